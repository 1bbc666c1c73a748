import Testing

@testable import Markup

/// Long enough to be worth taking out.
private let long = String(repeating: "<p>x & y</p>\n", count: 60)

struct CDATASectionsTests {
    private func tree(_ text: String) -> XMLTree {
        let vocabulary = XMLVocabulary(roots: ["rss"], containers: ["rss"], records: ["item"])
        return XMLScanner.tree(of: Array(text.utf8), vocabulary: vocabulary)
    }

    private func takenOut(_ text: String) -> [String]? {
        let bytes = Array(text.utf8)
        return CDATASections(bytes)?.texts.map { String(decoding: bytes[$0], as: UTF8.self) }
    }

    @Test(arguments: [
        ("one", "<rss><t><![CDATA[\(long)]]></t></rss>", [long], long),
        ("two and text", "<rss>a<![CDATA[\(long)]]>b<![CDATA[c]]><t>d</t></rss>", [long, "c"], "a\(long)bcd"),
        ("an empty one", "<rss><![CDATA[]]><![CDATA[\(long)]]></rss>", ["", long], long),
        ("one with brackets", "<rss><![CDATA[\(long)]]]]><![CDATA[>]]></rss>", ["\(long)]]", ">"], "\(long)]]>"),
        ("one in a comment", "<rss><!-- <![CDATA[no]]> --><![CDATA[\(long)]]></rss>", [long], long),
        ("one in an instruction", "<rss><?a <![CDATA[no]]> ?><![CDATA[\(long)]]></rss>", [long], long),
        ("line ends of Windows", "<rss><![CDATA[a\r\nb]]><![CDATA[\(long)]]></rss>", [long], "a\nb\(long)"),
    ])
    func `sections are put back where they stood`(label: String, text: String, taken: [String], all: String) {
        #expect(takenOut(text) == taken, "\(label)")
        #expect(tree(text).root?.text == all, "\(label)")
        #expect(tree(text).fault == nil && tree(text).isComplete, "\(label)")
    }

    @Test(arguments: [
        ("short", "<rss><![CDATA[x]]></rss>"), ("unended", "<rss><![CDATA[\(long)"),
        ("a document type", "<!DOCTYPE rss [<!ENTITY a '<![CDATA[\(long)]]>'>]><rss>&a;</rss>"),
        ("an instruction of our name", "<rss><?newswire-cdata?><![CDATA[\(long)]]></rss>"),
    ])
    func `what cannot be put back faithfully stays`(label: String, text: String) {
        #expect(takenOut(text) == nil, "\(label)")
    }

    @Test(arguments: [
        ("behind the root", "<rss>a</rss><![CDATA[\(long)]]>", 1),
        ("before the root", "<![CDATA[\(long)]]><rss>a</rss>", 1),
        ("in an attribute", "<rss a='<![CDATA[\(long)]]>'>a</rss>", 1),
        ("a fault behind one", "<rss><t><![CDATA[\(long)]]></t><t>&</t></rss>", 61),
        ("a control in one", "<rss><t><![CDATA[\(long)\u{1}]]></t></rss>", 61),
        ("a prefix that was never declared", "<rss><![CDATA[\(long)]]><a:b/></rss>", 61),
    ])
    func `a fault is found all the same, with its line`(label: String, text: String, line: Int) throws {
        let fault = try #require(tree(text).fault, "\(label)")
        // Of a fault inside markup that spans lines libxml2 gives the line of its beginning or of its end.
        #expect((1...61).contains(fault.line) && (line == 1 || fault.line == line), "\(label): \(fault)")
    }
}
