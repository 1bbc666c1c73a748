import Testing

@testable import Markup

struct PlainTextTests {
    @Test(arguments: [
        (" a \n\tb  c ", "a b c"), ("a\u{1B}[31mb\u{7}", "a[31mb"), ("a\u{202E}b\u{2066}c\u{200F}", "abc"),
        ("a\u{200B}b\u{FEFF}c", "abc"), ("\u{93}a\u{94}", "“a”"), ("a\u{2028}b\u{3000}c", "a b c"),
        ("👩\u{200D}👧", "👩\u{200D}👧"), ("e\u{301} a\u{30A}", "é å"),
        ("", ""), (" \n", ""), ("<b> &amp;", "<b> &amp;"),
    ])
    func `text is made safe to show`(text: String, expected: String) {
        #expect(Array(PlainText.clean(text, limit: 100).utf8) == Array(expected.utf8))
    }

    @Test(arguments: [
        ("one two three", 13, "one two three"), ("one two three", 12, "one two…"), ("abcdefghij", 5, "abcd…"),
        ("👩\u{200D}👧👩\u{200D}👧👩\u{200D}👧", 2, "👩\u{200D}👧…"), ("ab", 1, "…"),
    ])
    func `long text ends at a word and a whole character`(text: String, limit: Int, expected: String) {
        #expect(PlainText.clean(text, limit: limit) == expected)
    }

    @Test func `bytes that are not UTF-8 are left out`() {
        #expect(PlainText.clean([0x61, 0xFF, 0xC3, 0x62, 0xE2, 0x82], limit: 10) == "ab")
    }

    @Test func `a character of many marks is bounded too`() {
        #expect(PlainText.clean(String(repeating: "一", count: 100_000), limit: 10) == "一一一一一一一一一…")
        let text = "e" + String(repeating: "\u{301}", count: 100_000)
        #expect(PlainText.clean(text, limit: 10).unicodeScalars.count <= 90)
    }
}
