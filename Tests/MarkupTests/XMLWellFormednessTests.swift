import Testing

@testable import Markup

struct XMLWellFormednessTests {
    @Test(arguments: [
        "<toast><visual lang='en'>a &amp; b &#8217;</visual></toast>",
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<wp:Notification xmlns:wp=\"WPNotification\"/>",
        "<a><![CDATA[ 1 < 2 && 3 ]]></a>",
        "<a>$(title)</a>",
    ])
    func `a well-formed document passes`(text: String) throws {
        try XMLWellFormedness.check(text)
    }

    @Test(arguments: [
        ("", 1), ("text", 1), ("<a>", 1), ("<a>\n<b>\n</a>", 3), ("<a>&nbsp;</a>", 1), ("<a>\n a & b</a>", 2),
        ("<a b=1/>", 1), ("<a/><b/>", 1), ("<!DOCTYPE a><a/>", 1), ("\n<!DOCTYPE a [<!ENTITY x 'y'>]>\n<a>&x;</a>", 2),
        ("<a>\u{1}</a>", 1), ("<a x='1' x='2'/>", 1),
    ])
    func `a faulty document is refused at its line`(text: String, line: Int) throws {
        let fault = #expect(throws: XMLSyntaxError.self) { try XMLWellFormedness.check(text) }
        #expect(fault?.line == line)
        #expect(fault?.reason.isEmpty == false)
    }

    @Test(arguments: ["A ]]> B", "A & B", "</b>", "<!DOCTYPE a>"])
    func `a fault is refused whatever comes after it`(fault: String) {
        let text = "<a>\(fault)" + String(repeating: "<b>x</b>", count: 50_000) + "</a>"
        for _ in 1...4 {
            let found = #expect(throws: XMLSyntaxError.self) { try XMLWellFormedness.check(text) }
            #expect(found?.line == 1)
        }
    }

    @Test func `nesting and size are bounded`() {
        let deep = String(repeating: "<a>", count: 1_000) + String(repeating: "</a>", count: 1_000)
        #expect(throws: XMLSyntaxError.self) { try XMLWellFormedness.check(deep) }
        let large = "<a>" + String(repeating: "x", count: XMLWellFormedness.maximumBytes) + "</a>"
        #expect(throws: XMLSyntaxError.self) { try XMLWellFormedness.check(large) }
    }

    @Test(arguments: ["a", "xmlns:a"])
    func `attributes are bounded before they are compared`(name: String) {
        let attributes = (0..<60_000).map { " \(name)\($0)=''" }.joined()
        #expect(throws: XMLSyntaxError(line: 2, reason: "a tag has more than 128 attributes")) {
            try XMLWellFormedness.check("<a>\n<b\(attributes)/></a>")
        }
    }
}
