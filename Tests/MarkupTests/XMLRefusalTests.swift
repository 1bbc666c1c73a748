import Foundation
import Testing

@testable import Markup

/// Documents that end the parser's work before their end, followed by far more than a small buffer holds.
struct XMLRefusalTests {
    private static let vocabulary = XMLVocabulary(
        roots: ["rss"],
        containers: ["rss", "channel"],
        records: ["item"],
        space: { _, prefix in prefix ?? "" }
    )
    /// libxml2 keeps buffers below 64 KiB in memory that is reused at once, and gives larger ones back to the system.
    private static let fill = String(
        repeating: "<item><title>x</title><link>http://x.example/</link></item>",
        count: 1_700
    )

    /// Beginnings of documents, each with a reason to stop.
    static let refusals: [(label: String, text: String)] = [
        ("the end of a CDATA section in text", "<rss><channel><item><title>A ]]> B</title></item>"),
        ("a bare ampersand", "<rss><channel><title>A & B</title>"),
        ("a bracket in text", "<rss><channel><title>A < B</title>"),
        ("a tag that closes another", "<rss><channel><title>A</b>"),
        ("a duplicate attribute", "<rss><channel><title a='1' a='2'>A</title>"),
        ("an unquoted attribute", "<rss><channel><title a=1>A</title>"),
        ("a bracket in an attribute", "<rss><channel><title a='<'>A</title>"),
        ("a control character", "<rss><channel><title>A\u{1}B</title>"),
        ("a character reference to nothing", "<rss><channel><title>A&#0;B</title>"),
        ("an entity that is not declared", "<rss><channel><title>A&nbsp;B</title>"),
        ("two hyphens in a comment", "<rss><channel><!-- A -- B -->"),
        ("an instruction named xml", "<rss><channel><?xml version='1.0'?>"),
        ("a broken document type", "<!DOCTYPE rss [<!ENTITY a><!ELEMENT>]><rss><channel>"),
        ("declared attributes", "<!DOCTYPE rss [<!ATTLIST t a CDATA 'x'>]><rss><channel>"),
        ("a parameter entity", "<!DOCTYPE rss [<!ENTITY % p '<!ENTITY q \"r\">'>%p;]><rss><channel>&q;"),
        ("a prefix that is not declared", "<rss><channel><p:title>A</p:title>"),
        ("deep nesting", "<rss>" + String(repeating: "<a>", count: 3_000)),
        ("deep nesting without an end of the tag", "<rss>" + String(repeating: "<a ", count: 3_000)),
        ("many names", "<rss>" + (0...XMLLimits.names).map { "<n\($0)/>" }.joined()),
        ("many attribute names", "<rss>" + (0...XMLLimits.names).map { "<t n\($0)=''/>" }.joined()),
        ("many instructions", "<rss>" + String(repeating: "<?a b?>", count: XMLLimits.instructions + 1)),
        (
            "many namespaces inside one another",
            "<rss>" + String(repeating: "<a" + (0..<10).map { " xmlns:p\($0)='u'" }.joined() + ">", count: 120)
        ),
    ]

    private static func document(_ text: String, fill count: Int = 1) -> [UInt8] {
        Array((text + String(repeating: fill, count: count) + "</channel></rss>").utf8)
    }

    @Test(arguments: refusals.map(\.label))
    func `a refusal followed by 100 KB is survived by every way of reading`(label: String) throws {
        let text = try #require(Self.refusals.first { $0.label == label }).text
        let document = Self.document(text)
        #expect(document.count > 65_536)
        let tree = XMLScanner.tree(of: document, vocabulary: Self.vocabulary)
        #expect(tree.fault != nil || tree.isComplete)
        // The same twice: what is freed too early is often found unchanged the first time.
        let again = XMLScanner.tree(of: document, vocabulary: Self.vocabulary)
        #expect(again.fault == tree.fault && again.root?.bytes == tree.root?.bytes)
        for policy in [XMLTreeBuilder.Policy.strict, .withoutDoctype, .recovering] {
            var builder = XMLTreeBuilder(Self.vocabulary, policy: policy)
            builder.parse(document)
            _ = builder.tree(fault: nil, isComplete: false)
        }
        #expect(throws: XMLSyntaxError.self) {
            try XMLScanner.strictTree(of: document, vocabulary: Self.vocabulary)
        }
    }

    @Test func `the end of a CDATA section in text costs none of the records after it`() {
        let tree = XMLScanner.tree(
            of: Self.document("<rss><channel><item><title>A ]]> B</title></item>"),
            vocabulary: Self.vocabulary
        )
        let items = tree.root?.first("channel")?.all("item") ?? []
        #expect(items.count == 1_701 && tree.isComplete)
        #expect(items.first?.first("title")?.text == "A ]]> B")
        #expect(tree.fault?.line == 1)
    }

    @Test(arguments: [
        "<rss><title>A ]]> B</title>", "<rss><title>A</b>", "<!DOCTYPE rss><rss>",
        "<rss>" + String(repeating: "<a>", count: 201),
    ])
    func `hardly anything is read after a refusal`(text: String) {
        let document = Self.document(text, fill: 150)
        #expect(document.count > 10_000_000)
        var builder = XMLTreeBuilder(Self.vocabulary, policy: .withoutDoctype)
        builder.parse(document)
        #expect(builder.fault != nil)
        #expect(builder.bytesRead < 65_536, "\(builder.bytesRead) bytes")
    }

    @Test func `a document is read to its end`() {
        let document = Self.document("<rss><channel>", fill: 20)
        var builder = XMLTreeBuilder(Self.vocabulary, policy: .strict)
        builder.parse(document)
        #expect(builder.fault == nil && builder.bytesRead == document.count)
    }

    /// Bytes of a document that is larger than any fuzzer's input; `NEWSWIRE_LONG=1`: as large as a feed may be.
    private static let size = ProcessInfo.processInfo.environment["NEWSWIRE_LONG"] == nil ? 2_000_000 : 16_000_000

    static let giants: [(label: String, make: @Sendable () -> [UInt8])] = [
        ("a text", { bytes("<rss><t>", "x", "</t><u>]]></u></rss>") }),
        ("a text that never ends", { bytes("<rss><t>", "é", "") }),
        ("a CDATA section", { bytes("<rss><t><![CDATA[", "x", "]]></t>&</rss>") }),
        ("a CDATA section that never ends", { bytes("<rss>&<t><![CDATA[", "x", "") }),
        ("an attribute", { bytes("<rss><t a='", "x", "'>]]></t></rss>") }),
        ("an attribute that never ends", { bytes("<rss><t a='", "& ", "") }),
        ("many long attributes", { bytes("<rss>", "<t \(attributes)/>", "]]></rss>") }),
        ("a name", { bytes("<rss><", "x", ">]]></rss>") }),
        ("a comment", { bytes("<rss><!--", "- ", "--><t>]]></t></rss>") }),
        ("an instruction", { bytes("<rss><?a ", "? ", "?><t>]]></t></rss>") }),
        ("a document type", { bytes("<!DOCTYPE rss [", "<!--x-->", "]><rss>]]></rss>") }),
        ("references", { bytes("<rss><t>", "&#65;&amp;", "</t>]]></rss>") }),
        ("undeclared references", { bytes("<rss><t>", "&abc;", "</t></rss>") }),
        ("line ends", { bytes("<rss><t>", "\r\n", "</t>]]></rss>") }),
        ("ends of CDATA sections", { bytes("<rss><t>", "]]>", "</t></rss>") }),
        ("start tags", { bytes("<rss>", "<t>", "") }),
        ("end tags", { bytes("<rss>", "</t>", "") }),
        ("brackets", { bytes("<rss>", "<", "") }),
    ]

    /// Together larger than libxml2 lets one tag be: 10 MB.
    private static let attributes = (0..<100).map { "a\($0)='\(String(repeating: "x", count: size / 114))'" }
        .joined(separator: " ")

    private static func bytes(_ head: String, _ part: String, _ end: String) -> [UInt8] {
        var bytes = Array(head.utf8)
        bytes.reserveCapacity(size + part.utf8.count + end.utf8.count)
        let part = Array(part.utf8)
        while bytes.count < size - part.count { bytes += part }
        return bytes + Array(end.utf8)
    }

    @Test(arguments: giants.map(\.label))
    func `what is larger than a fuzzer's input is read in bounded time`(label: String) throws {
        let document = try #require(Self.giants.first { $0.label == label }).make()
        let took = processorTime {
            let tree = XMLScanner.tree(of: document, vocabulary: Self.vocabulary)
            _ = tree.root?.text
            #expect(throws: XMLSyntaxError.self) {
                try XMLScanner.strictTree(of: document, vocabulary: Self.vocabulary)
            }
        }
        #expect(took < linearTime * 2, "\(took)")
    }
}
