"""LangGraph: a queue in front of a graph, and nodes that happen once."""

from collections.abc import Callable

from tests.hosts.libraries.conftest import Example


def test_the_example_runs_the_graph_on_a_turn(example: Callable[[str], Example]) -> None:
    one = example("langgraph_graph.py")
    assert one.run() == 0
    assert (one.turn().state, one.sent()) == ("acked", ["hi"])


def test_the_example_is_killed_in_its_node(example: Callable[[str], Example]) -> None:
    example("langgraph_graph.py").is_done_again_after_a_kill_without_a_second_effect()
