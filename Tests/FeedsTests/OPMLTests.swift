import Foundation
import Testing

@testable import Feeds

struct OPMLTests {
    private func read(_ text: String) throws -> OPMLDocument {
        try OPMLReader.read(Array(text.utf8), contentType: nil)
    }

    /// The feeds of a document as `address title`, folders with what they hold in brackets.
    private func sketch(_ outlines: [OPMLOutline]) -> String {
        outlines.map { outline in
            let own = [outline.feedAddress, outline.title].compactMap(\.self).joined(separator: " ")
            return outline.children.isEmpty ? own : "\(own) [\(sketch(outline.children))]"
        }.joined(separator: ", ")
    }

    private static func body(_ outlines: String) -> String {
        "<opml version=\"2.0\"><head/><body>\(outlines)</body></opml>"
    }

    @Test(arguments: [
        ("plain", body("<outline type='rss' text='A' xmlUrl='https://a.example/f'/>"), "https://a.example/f A"),
        ("letter case", "<OPML><Body><OUTLINE TEXT='A' XMLURL='u'/></Body></OPML>", "u A"),
        ("url, no type", body("<outline text='A' url='https://a.example/'/>"), "https://a.example/ A"),
        ("a link", body("<outline text='A' type='link' url='https://a.example/'/>"), "A"),
        ("an inclusion", body("<outline text='A' type='include' url='https://a.example/'/>"), "A"),
        ("the feed scheme", body("<outline xmlUrl='feed://a.example/f'/>"), "http://a.example/f"),
        ("a blank behind the feed prefix", body("<outline xmlUrl='feed: //a.example/f'/>"), "http://a.example/f"),
        ("the feed prefix", body("<outline xmlUrl=' feed:https://a.example/f '/>"), "https://a.example/f"),
        ("escaped twice", body("<outline xmlUrl='https://a.example/?a&amp;amp;b'/>"), "https://a.example/?a&b"),
        ("markup", body("<outline text='&lt;b>A&lt;/b> &amp;amp; B' xmlUrl='u'/>"), "u A & B"),
        ("title first", body("<outline text='A' title='B' xmlUrl='u'/>"), "u B"),
        ("address as name", body("<outline text='u' title='u' xmlUrl='u'/>"), "u"),
        (
            "folders",
            body("<outline text='N'><outline text='W'><outline xmlUrl='u'/></outline><outline xmlUrl='v'/></outline>"),
            "N [W [u], v]"
        ),
        ("stray ampersand", body("<outline text='A&B' xmlUrl='x?a=1&b=2'/>"), "x?a=1&b=2 A&B"),
        ("no end", "<opml><body><outline text='N'><outline xmlUrl='u'/>", "N [u]"),
        ("no quotes", body("<outline text=A xmlUrl=u>"), "u A"),
        ("rubbish before", "\n<!-- x --> <br>\(body("<outline xmlUrl='u'/>"))", "u"),
        ("in a namespace", "<opml xmlns='http://opml.org/spec2'><body><outline xmlUrl='u'/></body></opml>", "u"),
    ])
    func `outlines of the wild are understood`(label: String, text: String, expected: String) throws {
        #expect(sketch(try read(text).outlines) == expected)
    }

    @Test func `a document says what was wrong with it`() throws {
        let whole = try read(Self.body("<outline xmlUrl='u'/>"))
        #expect(whole.malformed == nil && whole.isComplete)
        let cut = try read("<opml><body><outline text='a & b'")
        #expect(cut.malformed != nil && !cut.isComplete)
    }

    @Test(arguments: [
        ("", "cannot be read"), ("text", "cannot be read"), ("<rss/>", "its root is 'rss'"),
        ("{\"a\": 1}", "cannot be read"),
    ])
    func `a document that is not OPML is named`(text: String, reason: String) {
        let error = #expect(throws: OPMLError.self) { _ = try read(text) }
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
    }

    @Test func `encodings are those of feeds`() throws {
        var bytes = Array("<?xml version='1.0' encoding='ISO-8859-1'?>".utf8)
        bytes += Array("<opml><body><outline text='caf".utf8) + [0xE9] + Array("' xmlUrl='u'/></body></opml>".utf8)
        #expect(sketch(try OPMLReader.read(bytes, contentType: nil).outlines) == "u café")
        let units = Self.body("<outline text='é' xmlUrl='u'/>").utf16
        let wide = units.reduce(into: [0xFF, 0xFE] as [UInt8]) { $0 += [UInt8($1 & 0xFF), UInt8($1 >> 8)] }
        #expect(sketch(try OPMLReader.read(wide, contentType: nil).outlines) == "u é")
    }

    @Test func `lines are those of the document, and none where they are not known for sure`() throws {
        let text =
            "<opml>\n<body><!-- <outline/>\n -->\n<outline\ntext='N'>\n<outline xmlUrl='u'/></outline></body></opml>"
        let folder = try #require(try read(text).outlines.first)
        #expect(folder.line == 4)
        #expect(folder.children.map(\.line) == [6])
        let odd = try read("<opml><body>\n<outline text='<outline x' xmlUrl='u'/>\n<outline xmlUrl='v'/></body></opml>")
        #expect(odd.outlines.map(\.line) == [nil, nil])
    }

    @Test func `attributes of other namespaces keep them, standard ones get their spelling`() throws {
        let text =
            "<opml xmlns:x='urn:x'><body><outline x:Rank='1' HTMLURL='h' ttl='5' y:z='2' xml:lang='fr' é='3'/></body></opml>"
        let outline = try #require(try read(text).outlines.first)
        #expect(
            outline.attributes.map { "\($0.name)=\($0.value)" } == [
                "{urn:x}Rank=1", "htmlUrl=h", "ttl=5", "{y}z=2", "{http://www.w3.org/XML/1998/namespace}lang=fr",
            ]
        )
    }

    @Test func `what is written is read back the same`() throws {
        let values = [
            "a & <b> \"c\" 'd'", "line\nbreak\r\n\ttab", " outer ", "é 日本 😀", "&amp;amp;", "\u{85}\u{2028}", "]]>",
        ]
        var document = OPMLDocument(title: "T & <t> &amp;amp;", outlines: [])
        for (index, value) in values.enumerated() {
            let foreign = OPMLName("k\(index)", in: "urn:\(index)?a=1&b=\"2\"")
            let names = [OPMLName.text, .xmlURL, foreign, OPMLName("own", in: "urn:own")]
            var feed = OPMLOutline(names.map { OPMLOutline.Attribute($0, value) })
            feed.children = [OPMLOutline([OPMLOutline.Attribute(.text, "")])]
            document.outlines.append(OPMLOutline([OPMLOutline.Attribute(.text, value)], children: [feed]))
        }
        let text = OPMLWriter.text(document, prefixes: ["urn:own": "own"])
        var back = try read(text)
        #expect(back.malformed == nil && text.contains(" own:own="))
        back.outlines = back.outlines.map(Self.bare)
        #expect(back == document)
        #expect(OPMLWriter.text(back, prefixes: ["urn:own": "own"]) == text)
    }

    private static func bare(_ outline: OPMLOutline) -> OPMLOutline {
        var outline = outline
        outline.line = nil
        outline.children = outline.children.map(bare)
        return outline
    }

    @Test func `outlines without end neither crash nor take long`() throws {
        let deep = String(repeating: "<outline text='a'>", count: 50_000)
        #expect(try !read("<opml><body>\(deep)").isComplete)
        let wide = String(repeating: "<outline xmlUrl='u'/>", count: 20_000)
        #expect(try read(Self.body(wide)).outlines.count == 20_000)
        #expect(try read("<opml><body>" + String(repeating: "<outline <!--", count: 20_000)).outlines.count < 20_001)
    }

    /// libxml2 was stopped in the middle of what it read, and went on in freed memory.
    @Test func `a fault costs none of the outlines of a large document`() throws {
        let outlines = String(repeating: "<outline text='a' xmlUrl='https://x.example/'/>", count: 3_000)
        for fault in ["]]>", "&", "<b>", "\u{1}"] {
            let document = try read(Self.body("<outline text='b'>\(fault)</outline>\(outlines)"))
            #expect(document.outlines.count == 3_001 && document.malformed != nil, "\(fault)")
        }
    }

    @Test(arguments: ["", "a b", "1a", "a:b", "xmlns", "{}a", "{u}", "{http://www.w3.org/2000/xmlns/}a", "é", "{u v}a"])
    func `names that no attribute can have are refused`(text: String) {
        #expect(OPMLName(parsing: text) == nil)
    }
}
