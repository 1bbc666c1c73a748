import Foundation
import Testing

@testable import Markup

struct XMLScannerTests {
    private static let vocabulary = XMLVocabulary(
        roots: ["rss"],
        containers: ["rss", "channel"],
        records: ["item"],
        space: { _, prefix in prefix ?? "" }
    )

    private func tree(_ text: String) -> XMLTree {
        XMLScanner.tree(of: Array(text.utf8), vocabulary: Self.vocabulary)
    }

    @Test func `a tree keeps order, attributes and text`() throws {
        let tree = tree("<rss v='1' w='a &amp; b'><t>one</t>two<t>t<b>hre</b>e</t></rss>")
        let root = try #require(tree.root)
        #expect(tree.isComplete && tree.fault == nil)
        #expect(root.attribute("v") == "1")
        #expect(root.attribute("w") == "a & b")
        #expect(root.all("t").map(\.text) == ["one", "three"])
        #expect(root.text == "onetwothree")
        #expect(root.all("t").last?.innerMarkup(limit: .max) == Array("t<b>hre</b>e".utf8))
    }

    @Test func `a strict tree is the same for a document without a fault`() throws {
        let text = "<?xml version='1.0'?><!-- c --><rss a='1'><t><![CDATA[a < b]]> &amp; c</t></rss>"
        let strict = try XMLScanner.strictTree(of: Array(text.utf8), vocabulary: Self.vocabulary)
        let root = try #require(strict.root)
        #expect(strict.isComplete && strict.fault == nil)
        #expect(root.attribute("a") == "1" && root.first("t")?.text == "a < b & c")
        #expect(root.documentUses("a") && !root.documentUses("b"))
    }

    @Test(arguments: [
        ("", 1, "empty"), ("<a>", 1, "premature end"), ("<a>\n<b></a>", 2, "tag mismatch"),
        ("<a>&nbsp;</a>", 1, "not defined"), ("\n<!DOCTYPE a><a/>", 2, "document type"),
        ("<a/><b/>", 1, "extra content"),
        ("<a>\n<p:b/></a>", 2, "namespace prefix p"), ("<a p:b=''/>", 1, "namespace prefix p"),
        (String(repeating: "<a>", count: 300), 1, "nested deeper than 200"),
    ])
    func `a strict tree is not repaired`(text: String, line: Int, reason: String) {
        let fault = #expect(throws: XMLSyntaxError.self) {
            try XMLScanner.strictTree(of: Array(text.utf8), vocabulary: Self.vocabulary)
        }
        #expect(fault?.line == line)
        #expect(fault?.reason.contains(reason) == true, "\(fault?.reason ?? "")")
    }

    /// The kinds of fault in feeds.md §8, with what their authors meant.
    @Test(arguments: [
        ("space before the declaration", "\n <?xml version='1.0'?><rss><t>x</t></rss>", "x"),
        ("text before the root", "<br />\n<b>Warning</b>: x\n<?xml version='1.0'?><rss><t>x</t></rss>", "x"),
        ("text after the root", "<rss><t>x</t></rss><script>var a;</script>", "x"),
        ("HTML entities", "<rss><t>a&nbsp;b&rsquo;c</t></rss>", "a\u{A0}b\u{2019}c"),
        ("bare ampersands", "<rss><t>AT&T x d & e &amp; f</t></rss>", "AT&T x d & e & f"),
        ("control characters", "<rss><t>a\u{1}b&#3;c</t></rss>", "abc"),
        ("a bracket in text", "<rss><t>5 < 6, <3</t></rss>", "5 < 6, <3"),
        ("an unclosed tag", "<rss><t>a<br>b</t></rss>", "ab"),
        ("a surplus end tag", "<rss></item></p><t>x</t></rss>", "x"),
        ("crossed tags", "<rss><t><b>x<i>y</b>z</i></t></rss>", "xyz"),
        ("a duplicate attribute", "<rss><t a='1' a='2'>x</t></rss>", "x"),
        ("an unquoted attribute", "<rss><t><a href=http://x.example/?a>x</a></t></rss>", "x"),
        ("an unclosed root's channel", "<rss><channel><t>x</t></rss>", "x"),
        ("a mail address in brackets", "<rss><t>me <me@x.example></t></rss>", "me <me@x.example>"),
        ("a text in pieces", "<rss><t>a<!-- b -->c<![CDATA[<d>]]><![CDATA[&]]>e&#102;</t></rss>", "ac<d>&ef"),
        ("an entity outside of the document", "<!DOCTYPE rss [<!ENTITY x SYSTEM 'f'>]><rss><t>a&x;b</t></rss>", "ab"),
        ("a declared entity", "<!DOCTYPE rss [<!ENTITY co 'A &#38; B'>]><rss><t>&co;</t></rss>", "A & B"),
    ])
    func `a careless document keeps its text`(label: String, text: String, expected: String) throws {
        let tree = tree(text)
        #expect(tree.isComplete, "\(label)")
        #expect(tree.root?.text == expected, "\(label)")
    }

    @Test func `a link's ampersands survive recovery`() throws {
        let root = try #require(tree("<rss><t u='?a=1&b=2&copy=3'>?a=1&b=2&amp;c=3</t></rss>").root)
        #expect(root.first("t")?.text == "?a=1&b=2&c=3")
        #expect(root.first("t")?.attribute("u") == "?a=1&b=2&copy=3")
    }

    @Test func `the start of a record ends one left open`() throws {
        let root = try #require(tree("<rss><item><t>1</t><item><t>2</t></item><c><item><t>3</t></item></rss>").root)
        #expect(root.all("item").map(\.text) == ["1", "2", "3"])
    }

    @Test func `a surplus end of the root does not hide what follows`() throws {
        let root = try #require(tree("<rss><item>1</item></rss><item>2</item></rss>").root)
        #expect(root.all("item").map(\.text) == ["1", "2"])
    }

    @Test(arguments: [
        "<rss><item>1</item><item>2", "<rss><item>1</item><item><t>2</t><![CDATA[x", "<rss><item>1</item><item><!-- x",
        "<rss><item>1</item><item a='", "<rss><item>1</item><", "<rss><item>1</item>",
    ])
    func `a cut document says so`(text: String) throws {
        let tree = tree(text)
        #expect(!tree.isComplete)
        #expect(tree.fault != nil)
        #expect(tree.root?.all("item").filter(\.isClosed).map(\.text) == ["1"])
    }

    @Test func `entities of entities are not expanded`() throws {
        let bomb = """
            <!DOCTYPE rss [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>
            <rss><t>&c;</t></rss>
            """
        #expect(tree(bomb).root?.text.utf8.count ?? .max < 100)
        let value = String(repeating: "x", count: 1_000)
        let flat = "<!DOCTYPE rss [<!ENTITY a '\(value)'>]><rss>" + String(repeating: "&a;", count: 100_000) + "</rss>"
        #expect(tree(flat).root?.text.utf8.count ?? .max < 2_000_000)
    }

    /// The kernel tells whether anybody opens the file that the document names.
    @Test func `external entities are not read, nor opened`() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "newswire-\(UUID()).ent")
        try Data("secret".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let watch = inotify_init1(Int32(IN_NONBLOCK))
        defer { close(watch) }
        let descriptor = inotify_add_watch(watch, file.path, UInt32(IN_OPEN | IN_ACCESS))
        try #require(descriptor >= 0)
        func wasTouched() -> Bool {
            var events = [UInt8](repeating: 0, count: 4_096)
            return read(watch, &events, events.count) > 0
        }
        for address in [file.absoluteString, file.path] {
            let subset = "<!ENTITY x SYSTEM '\(address)'><!ENTITY % y SYSTEM '\(address)'>%y;"
            for root in ["<rss>&x;</rss>", "<rss a='&x;'>", "<rss><b>&x;"] {
                let root = tree("<!DOCTYPE rss SYSTEM '\(address)' [\(subset)]>\(root)").root
                #expect(root?.text == "" && root?.attribute("a") ?? "" == "")
            }
        }
        #expect(!wasTouched())
        _ = try Data(contentsOf: file)
        #expect(wasTouched(), "the watch would have told")
    }

    @Test func `depth, names and attributes are bounded`() {
        let deep = tree("<rss><item>1</item>" + String(repeating: "<a>", count: 100_000))
        #expect(!deep.isComplete)
        #expect(deep.root?.all("item").map(\.text) == ["1"])
        let names = tree("<rss>" + (0..<20_000).map { "<n\($0)/>" }.joined() + "</rss>")
        #expect(!names.isComplete && names.fault != nil)
    }

    /// libxml2 alone would take minutes for each.
    @Test(arguments: ["a", "xmlns:a"])
    func `a million attributes of one tag take linear time`(name: String) throws {
        let text = "<rss\n><t " + (0..<1_000_000).map { "\(name)\($0)='>' " }.joined() + ">x</t></rss>"
        var tree: XMLTree?
        #expect(processorTime { tree = self.tree(text) } < linearTime)
        let root = try #require(tree?.root)
        #expect(tree?.isComplete == true && root.text == "x")
        #expect(tree?.fault == XMLSyntaxError(line: 2, reason: "a tag has more than 128 attributes"))
        #expect(name != "a" || root.first("t")?.attribute("a127") == ">")
        #expect(root.first("t")?.attribute("a128") == nil)
    }

    @Test(arguments: [(128, true), (129, false)])
    func `a tag may have as many attributes as are kept`(count: Int, isWellFormed: Bool) {
        let attributes = (0..<count).map { "a\($0)='=\">'" }.joined(separator: " ")
        let long = String(repeating: "-", count: 2_000)
        for text in ["<rss A>x</rss>", "<rss>z<t/><t A/>x</rss>", "<rss>\(long)<t A/>\(long)x</rss>"] {
            let tree = tree(text.replacing("A", with: attributes))
            #expect((tree.fault == nil) == isWellFormed)
            #expect(tree.root?.text.hasSuffix("x") == true)
        }
    }

    @Test func `namespaces inside one another are bounded`() {
        let declared = (0..<100).map { " xmlns:p\($0)='u'" }.joined()
        let nested = (0..<150).map { "<a\(declared.replacing("p", with: "q\($0)p"))>" }.joined()
        var tree: XMLTree?
        #expect(
            processorTime {
                tree = self.tree("<rss><item>1</item>" + nested + String(repeating: "<r:b/>", count: 200_000))
            } < linearTime
        )
        #expect(tree?.fault?.reason.contains("namespaces") == true && tree?.root?.first("item")?.text == "1")
        let beside = String(repeating: "<a\(declared)/>", count: 500)
        #expect(self.tree("<rss>\(beside)</rss>").isComplete)
    }

    /// libxml2 keeps each different string in a table of fixed size, and would look at most of them for the next.
    @Test func `what brings names of its own is bounded`() {
        let instructions = tree("<rss><item>1</item>" + (0..<2_000).map { "<?a\($0)?>" }.joined() + "<t/></rss>")
        #expect(!instructions.isComplete && instructions.root?.first("t") == nil)
        #expect(instructions.root?.first("item")?.text == "1")
        #expect(instructions.fault?.reason.contains("processing instructions") == true)
        let namespaces = (0..<128).map { " xmlns:p\($0)='u'" }.joined()
        let many = tree("<rss><item>1</item>" + String(repeating: "<a\(namespaces)/>", count: 2_000) + "</rss>")
        #expect(!many.isComplete && many.fault?.reason.contains("namespaces") == true)
        for declaration in ["<!ENTITY # 'y'>", "<!ELEMENT # ANY>", "<!NOTATION # SYSTEM 'y'>"] {
            let declared = (0..<1_000).map { declaration.replacing("#", with: "n\($0)") }.joined()
            let text = "<!DOCTYPE rss [<!ENTITY co 'A'>\(declared)]><rss>&co;</rss>"
            #expect(tree(text).isComplete && tree(text).fault == nil && tree(text).root?.text == "A")
            var builder = XMLTreeBuilder(Self.vocabulary, policy: .strict)
            builder.parse(Array(text.replacing("&co;", with: "").utf8))
            #expect(builder.needsDeclarations && !builder.hasRoot, "\(declaration)")
        }
    }

    /// libxml2 would add the defaults to each tag.
    @Test func `declared attributes are left out`() {
        let declared = (0..<2_000).map { "<!ATTLIST t a\($0) CDATA 'x'>" }.joined()
        let text = "<!DOCTYPE rss [\(declared)]><rss>" + String(repeating: "<t/>", count: 20_000) + "<t b='1'/></rss>"
        var tree: XMLTree?
        #expect(processorTime { tree = self.tree(text) } < linearTime)
        #expect(tree?.isComplete == true && tree?.fault == nil && tree?.uses("a1") == false)
        #expect(tree?.root?.all("t").last?.attribute("b") == "1")
    }

    @Test func `a huge text is kept up to its bound`() {
        let text = String(repeating: "x", count: 3 * XMLLimits.fieldBytes)
        let tree = tree("<rss><t>\(text)</t><t>y</t></rss>")
        #expect(tree.root?.all("t").map(\.text.utf8.count) == [XMLLimits.fieldBytes, 1])
    }
}
