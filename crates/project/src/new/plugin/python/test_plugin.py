import unittest

import plugin  # noqa: F401 (it names its functions)
from svc_plugin import PluginError, call


class Slugs(unittest.TestCase):
    def test_words_are_joined_by_dashes(self):
        self.assertEqual(call("slug", '{"text": " Hello, World! "}'), '"hello-world"')
        self.assertEqual(call("slug", '{"text": "Hello World", "max_length": 6}'), '"hello"')

    def test_text_without_words_is_refused(self):
        with self.assertRaises(PluginError) as caught:
            call("slug", '{"text": "!"}')
        self.assertEqual((caught.exception.code, caught.exception.is_input), ("EMPTY_SLUG", True))


if __name__ == "__main__":
    unittest.main()
