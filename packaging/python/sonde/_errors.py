"""Reasons for which a file, or a part of it, cannot be had."""


class SondeError(Exception):
    """Whatever this reader refuses."""


class NotARecord(SondeError):
    """The file is no JSON, or JSON of another form."""


class NewerRecord(SondeError):
    """A record of a version that this reader does not know."""


class BrokenRecord(SondeError):
    """A record in which a field is absent, of another type or out of its range."""


class NoSuchPart(SondeError):
    """A record that was asked for what it does not have: response times of a throughput run, for one."""
