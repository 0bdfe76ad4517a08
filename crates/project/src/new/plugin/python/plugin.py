"""The functions of the plugin; their names are those of plugin.toml."""
import re

from svc_plugin import PluginError, function


@function
def slug(text, max_length=60):
    """Makes the part of an address of a title: lower-case letters and digits, with one dash between words."""
    words = re.findall("[a-z0-9]+", text.lower())
    made = "-".join(words)[: int(max_length)].removesuffix("-")
    if not made:
        raise PluginError("EMPTY_SLUG", "the text has no letter and no digit")
    return made
