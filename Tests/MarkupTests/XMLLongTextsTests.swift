import Testing

@testable import Markup

/// Long enough to be worth taking out; arguments have an `L` instead, or they would fill the log.
private let long = String(repeating: "<p>x & y</p>\n", count: 60)
/// The same as a text, for an `E` in arguments.
private let escaped = String(repeating: "&lt;p>x &amp; y&#60;/p&#x3e;\n", count: 60)

private func filled(_ text: String) -> String { text.replacing("L", with: long).replacing("E", with: escaped) }

struct XMLLongTextsTests {
    private func tree(_ text: String) -> XMLTree {
        let vocabulary = XMLVocabulary(roots: ["rss"], containers: ["rss"], records: ["item"])
        return XMLScanner.tree(of: Array(text.utf8), vocabulary: vocabulary)
    }

    private func takenOut(_ text: String) -> [String]? {
        let bytes = Array(text.utf8)
        return XMLLongTexts(bytes)?.texts.map { String(decoding: bytes[$0.range], as: UTF8.self) }
    }

    @Test(
        arguments: [
            ("one", "<rss><t><![CDATA[L]]></t></rss>", ["L"], "L"),
            ("two and text", "<rss>a<![CDATA[L]]>b<![CDATA[c]]><t>d</t></rss>", ["L", "c"], "aLbcd"),
            ("an empty one", "<rss><![CDATA[]]><![CDATA[L]]></rss>", ["", "L"], "L"),
            ("one with brackets", "<rss><![CDATA[L]]]]><![CDATA[>]]></rss>", ["L]]", ">"], "L]]>"),
            ("one in a comment", "<rss><!-- <![CDATA[no]]> --><![CDATA[L]]></rss>", ["L"], "L"),
            ("one in an instruction", "<rss><?a <![CDATA[no]]> ?><![CDATA[L]]></rss>", ["L"], "L"),
            ("line ends of Windows", "<rss><![CDATA[a\r\nb]]><![CDATA[L]]></rss>", ["L"], "a\nbL"),
            ("escaped", "<rss><t a='>' b=\"'>\">E</t></rss>", ["E"], "L"),
            ("escaped, and elements", "<rss>E<t>E</t>E</rss>", ["E", "E", "E"], "LLL"),
            ("escaped beside others", "<rss>E<!-- > -->E<?a?>E<![CDATA[L]]></rss>", ["E", "E", "E", "L"], "LLLL"),
            ("references of all kinds", "<rss>E&quot;&apos;&#233;&#x1F600;&#13;</rss>", nil, "L\"'é😀\r"),
            ("plain", "<rss>\(String(repeating: "é", count: 600))</rss>", nil, String(repeating: "é", count: 600)),
            ("an entity that is not XML's", "<rss><t>E</t><t>E&nbsp;</t></rss>", nil, "LL\u{A0}"),
        ] as [(String, String, [String]?, String)]
    )
    func `texts are put back in their places`(label: String, text: String, taken: [String]?, all: String) {
        let found = takenOut(filled(text))
        #expect(found != nil, "\(label)")
        if let taken { #expect(found == taken.map(filled), "\(label)") }
        #expect(tree(filled(text)).root?.text == filled(all), "\(label)")
        #expect(tree(filled(text)).fault == nil || text.contains("nbsp"), "\(label)")
        #expect(tree(filled(text)).isComplete, "\(label)")
    }

    @Test(arguments: [
        ("short", "<rss><![CDATA[x]]></rss>"), ("unended", "<rss><![CDATA[L"),
        ("a document type", "<!DOCTYPE rss [<!ENTITY a '<![CDATA[L]]>'>]><rss>&a;</rss>"),
        ("an instruction of our name", "<rss><?newswire-text?><![CDATA[L]]></rss>"),
        ("an unknown reference", "<rss>E&x;</rss>"), ("a bare ampersand", "<rss>E & E</rss>"),
        ("brackets", "<rss>E]]></rss>"), ("a control", "<rss>E\u{1}</rss>"), ("line ends", "<rss>E\r\n</rss>"),
        ("a forbidden character", "<rss>E&#1;</rss>"), ("no character", "<rss>E&#xD800;</rss>"),
        ("half a reference", "<rss>E&#</rss>"), ("space", "<rss>\(String(repeating: " \n", count: 900))</rss>"),
        ("a tag without end", "<rss a='E</rss>"),
    ])
    func `what cannot be put back faithfully stays`(label: String, text: String) {
        #expect(takenOut(filled(text)) == nil, "\(label)")
    }

    @Test(arguments: [
        ("behind the root", "<rss>a</rss><![CDATA[L]]>", 1),
        ("before the root", "<![CDATA[L]]><rss>a</rss>", 1),
        ("escaped, before the root", "E<rss>a</rss>", 1),
        ("in an attribute", "<rss a='<![CDATA[L]]>'>a</rss>", 1),
        ("a fault behind one", "<rss><t><![CDATA[L]]></t><t>&</t></rss>", 61),
        ("a fault behind an escaped one", "<rss><t>E</t><t>&</t></rss>", 61),
        ("a control in one", "<rss><t><![CDATA[L\u{1}]]></t></rss>", 61),
        ("a prefix that was never declared", "<rss><![CDATA[L]]><a:b/></rss>", 61),
    ])
    func `a fault is found all the same, with its line`(label: String, text: String, line: Int) throws {
        let fault = try #require(tree(filled(text)).fault, "\(label)")
        // Of a fault inside markup that spans lines libxml2 gives the line of its beginning or of its end.
        #expect((1...61).contains(fault.line) && (line == 1 || fault.line == line), "\(label): \(fault)")
    }

    @Test func `a long escaped text is cut at the limit of a field`() {
        let text = String(repeating: "&lt;a&gt;", count: 500_000)
        let bytes = tree("<rss>\(text)</rss>").root?.bytes
        #expect(bytes?.count == 1_048_576 || bytes?.count == 1_048_575)
    }
}
