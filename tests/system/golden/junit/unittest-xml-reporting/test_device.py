import unittest


class Arithmetic(unittest.TestCase):
    def test_good(self):
        print("hello")

    def test_bad(self):
        self.assertEqual(1, 2)

    def test_raises(self):
        raise ValueError("boom <&>")

    @unittest.skip("no card")
    def test_skip(self):
        pass

    @unittest.expectedFailure
    def test_xfail(self):
        self.fail("known")

    @unittest.expectedFailure
    def test_xpass(self):
        pass

    def test_sub(self):
        for i in range(3):
            with self.subTest(i=i):
                self.assertNotEqual(i, 1)
