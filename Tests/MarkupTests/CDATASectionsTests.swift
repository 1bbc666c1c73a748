import Testing

@testable import Markup

/// Long enough to be worth taking out.
private let long = String(repeating: "<p>x & y</p>\n", count: 60)

struct CDATASectionsTests {
    /// A document, shown by its label alone: a run prints the arguments of each case.
    struct Sample: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let text: String
        var taken: [String] = []
        var all = ""
        var line = 0

        init(_ label: String, _ text: String, _ taken: [String] = [], _ all: String = "", line: Int = 0) {
            (testDescription, self.text, self.taken, self.all, self.line) = (label, text, taken, all, line)
        }
    }

    private func tree(_ text: String) -> XMLTree {
        let vocabulary = XMLVocabulary(roots: ["rss"], containers: ["rss"], records: ["item"])
        return XMLScanner.tree(of: Array(text.utf8), vocabulary: vocabulary)
    }

    private func takenOut(_ text: String) -> [String]? {
        let bytes = Array(text.utf8)
        return CDATASections(bytes)?.texts.map { String(decoding: bytes[$0], as: UTF8.self) }
    }

    @Test(arguments: [
        Sample("one", "<rss><t><![CDATA[\(long)]]></t></rss>", [long], long),
        Sample("two and text", "<rss>a<![CDATA[\(long)]]>b<![CDATA[c]]><t>d</t></rss>", [long, "c"], "a\(long)bcd"),
        Sample("an empty one", "<rss><![CDATA[]]><![CDATA[\(long)]]></rss>", ["", long], long),
        Sample("one with brackets", "<rss><![CDATA[\(long)]]]]><![CDATA[>]]></rss>", ["\(long)]]", ">"], "\(long)]]>"),
        Sample("one in a comment", "<rss><!-- <![CDATA[no]]> --><![CDATA[\(long)]]></rss>", [long], long),
        Sample("one in an instruction", "<rss><?a <![CDATA[no]]> ?><![CDATA[\(long)]]></rss>", [long], long),
        Sample("line ends of Windows", "<rss><![CDATA[a\r\nb]]><![CDATA[\(long)]]></rss>", [long], "a\nb\(long)"),
    ])
    func `sections are put back where they stood`(sample: Sample) {
        #expect(takenOut(sample.text) == sample.taken)
        #expect(tree(sample.text).root?.text == sample.all)
        #expect(tree(sample.text).fault == nil && tree(sample.text).isComplete)
    }

    @Test(arguments: [
        Sample("short", "<rss><![CDATA[x]]></rss>"), Sample("unended", "<rss><![CDATA[\(long)"),
        Sample("a document type", "<!DOCTYPE rss [<!ENTITY a '<![CDATA[\(long)]]>'>]><rss>&a;</rss>"),
        Sample("an instruction of our name", "<rss><?newswire-cdata?><![CDATA[\(long)]]></rss>"),
    ])
    func `what cannot be put back faithfully stays`(sample: Sample) {
        #expect(takenOut(sample.text) == nil)
    }

    @Test(arguments: [
        Sample("behind the root", "<rss>a</rss><![CDATA[\(long)]]>", line: 1),
        Sample("before the root", "<![CDATA[\(long)]]><rss>a</rss>", line: 1),
        Sample("in an attribute", "<rss a='<![CDATA[\(long)]]>'>a</rss>", line: 1),
        Sample("a fault behind one", "<rss><t><![CDATA[\(long)]]></t><t>&</t></rss>", line: 61),
        Sample("a control in one", "<rss><t><![CDATA[\(long)\u{1}]]></t></rss>", line: 61),
        Sample("a prefix that was never declared", "<rss><![CDATA[\(long)]]><a:b/></rss>", line: 61),
    ])
    func `a fault is found all the same, with its line`(sample: Sample) throws {
        let (fault, line) = (try #require(tree(sample.text).fault), sample.line)
        // Of a fault inside markup that spans lines libxml2 gives the line of its beginning or of its end.
        #expect((1...61).contains(fault.line) && (line == 1 || fault.line == line), "\(fault)")
    }
}
