"""The export of the component. `wit_world` and `componentize_py_types` are made by componentize-py as it builds."""
from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.functions import Error, ErrorClass

import plugin  # noqa: F401 (it names its functions)
from svc_plugin import PluginError, call


class Functions(exports.Functions):
    def invoke(self, function, input):
        try:
            return call(function, input)
        except PluginError as error:
            of = ErrorClass.INPUT if error.is_input else ErrorClass.INTERNAL
            raise Err(Error(error.code, of, error.message)) from error
