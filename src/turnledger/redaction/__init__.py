"""Taking secrets out of what a caller gives, before it is hashed and stored for ever.

Off unless it is asked for: see docs/redaction.md. `secrets()` knows the forms of well-known
secrets; any function of an argument's name and its value can stand in its place.
"""

from turnledger.domain.redactor import Redactor
from turnledger.redaction.finding import Finding, find
from turnledger.redaction.redactor import SecretRedactor, secrets

__all__ = ["Finding", "Redactor", "SecretRedactor", "find", "secrets"]
