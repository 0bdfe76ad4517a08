"""What a plugin in Python needs: its functions by name, and errors with a code."""
import json

_FUNCTIONS = {}


class PluginError(Exception):
    """The error of a function. With `is_input` the caller's input is to blame, otherwise anything else."""

    def __init__(self, code, message, is_input=True):
        super().__init__(message)
        self.code = code
        self.message = message
        self.is_input = is_input


def function(made):
    """Makes a function one of the plugin, under its own name. It takes the inputs of a task as named arguments, and
    returns a value that JSON can hold."""
    _FUNCTIONS[made.__name__] = made
    return made


def call(name, text):
    """Calls a function with the text of its inputs; returns the text of its result."""
    if name not in _FUNCTIONS:
        raise PluginError("NO_SUCH_FUNCTION", f"the component has no function {name}", is_input=False)
    try:
        return json.dumps(_FUNCTIONS[name](**json.loads(text)))
    except PluginError:
        raise
    except Exception as error:
        raise PluginError("EXCEPTION", f"{type(error).__name__}: {error}", is_input=False) from error
