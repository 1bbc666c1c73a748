import FoundationEssentials
import Testing

@testable import HubProtocol

@Suite struct TagTests {
    @Test(arguments: [
        "World", "a_b-c@d#e.f:g", "新闻", "Économie", "हिन्दी", "٣", "username:bob", "$InstallationId:{a=b}", "$UserId:{bob}",
        String(repeating: "x", count: 120), "$UserId:{\(String(repeating: "x", count: 120))}",
    ])
    func `a tag of the grammar is taken as it is`(text: String) throws {
        #expect(try Tag(text).text == text)
    }

    @Test(arguments: [
        "", "a b", "a,b", "a=b", "a/b", "(a)", "!a", "a\n", "a\u{200B}b", "😀", "$a", "$InstallationId:{}",
        "$UserId:{a b}",
        "$UserId:[a]", "$UserId:{a}b", "$InstallationId:a", "x$UserId:{a}", String(repeating: "x", count: 121),
        "$UserId:{\(String(repeating: "x", count: 121))}",
    ])
    func `anything else is refused with 400`(text: String) {
        #expect { try Tag(text) } throws: { ($0 as? ProtocolError)?.status == 400 }
    }

    @Test(arguments: [
        ("World", "wORLD"), ("Économie", "ÉCONOMIE"), ("Économie", "E\u{301}conomie"), ("ΟΔΟΣ", "οδος"),
        ("ΟΔΟΣ", "οδοσ"),
        ("sport", "ſport"), ("K", "\u{212A}"), ("Å", "\u{212B}"), ("µ", "μ"), ("İ", "i\u{307}"), ("ẞ", "ß"), ("ﬀ", "ﬀ"),
        ("Ǆ", "ǅ"), ("ა", "Ა"), ("Ꭰ", "ꭰ"), ("a\u{323}\u{301}", "a\u{301}\u{323}"),
        ("$installationid:{ABC}", "$InstallationId:{abc}"),
    ])
    func `tags that differ in case or composition are one`(left: String, right: String) throws {
        let (left, right) = (try Tag(left), try Tag(right))
        #expect(left == right)
        #expect(left.hashValue == right.hashValue)
        #expect(Array(left.folded.utf8) == Array(right.folded.utf8), "a store compares bytes")
    }

    @Test(arguments: [("a", "b"), ("ß", "ss"), ("ı", "i"), ("а", "a"), ("e", "é"), ("ａ", "a"), ("ﬁ", "fi")])
    func `tags that only look alike are two`(left: String, right: String) throws {
        #expect(try Tag(left) != Tag(right))
    }

    @Test func `folding a folded text changes nothing`() {
        for value in UInt32(0)...0x1_FFFF {
            guard let scalar = Unicode.Scalar(value), scalar.isTagCharacter else { continue }
            let folded = TagFolding.fold(String(scalar))
            let again = TagFolding.fold(folded)
            if !again.unicodeScalars.elementsEqual(folded.unicodeScalars) {
                Issue.record("U+\(String(value, radix: 16)) folds on")
            }
        }
    }

    @Test func `server-assigned tags are made, known and spelled the canonical way`() throws {
        #expect(Tag.installation(try InstallationID("a-1")).text == "$InstallationId:{a-1}")
        #expect(Tag.user(try UserID("bob")).isServerAssigned)
        #expect(try Tag("$userid:{bob}").text == "$UserId:{bob}")
        #expect(try Tag("$userid:{bob}").isServerAssigned)
        #expect(try !Tag("World").isServerAssigned)
    }

    @Test func `a tag is a plain string in JSON, and checked when read`() throws {
        let tags = [try Tag("World"), try Tag("$UserId:{a}")]
        let data = try JSONEncoder().encode(tags)
        #expect(String(decoding: data, as: UTF8.self) == #"["World","$UserId:{a}"]"#)
        #expect(try JSONDecoder().decode([Tag].self, from: data) == tags)
        #expect(throws: (any Error).self) { try JSONDecoder().decode([Tag].self, from: Data(#"["a b"]"#.utf8)) }
    }
}

@Suite struct ReservedTagPrefixesTests {
    @Test(arguments: [
        "username:bob", "USERNAME:bob", "uSeRnAmE:", "from:bob", "uſername:bob", "username:\u{301}bob",
        "username:\u{FE0F}bob", "from:\u{338}", "FROM:é",
    ])
    func `no spelling of a reserved prefix escapes`(text: String) throws {
        let tag = try Tag(text)
        #expect(ReservedTagPrefixes.standard.contains(tag))
        #expect(tag.hasPrefix("userName:") || tag.hasPrefix("From:"))
    }

    @Test(arguments: [
        "username", "user:name", "xusername:bob", "from", "fromage:x", "World", "ｕｓｅｒｎａｍｅ:bob", "usеrname:bob",
    ])
    func `other tags are free, also those that merely look reserved and match nothing reserved`(text: String) throws {
        #expect(try !ReservedTagPrefixes.standard.contains(Tag(text)))
    }

    @Test func `whatever equals a tag with a reserved prefix is reserved`() throws {
        let prefix = try ReservedTagPrefixes(["kiss"])
        for text in ["KISSme", "\u{212A}issme", "ki\u{17F}sme", "kiss\u{301}", "kiś"] {
            let tag = try Tag(text)
            #expect(prefix.contains(tag) == (text != "kiś"), "\(text)")
        }
        // The last letter of the prefix merges with a mark behind it, and is still seen.
        #expect(try prefix.contains(Tag("kisś")))
    }

    @Test func `a prefix that could not begin a tag is refused`() {
        #expect(throws: ProtocolError.self) { try ReservedTagPrefixes([""]) }
        #expect(throws: ProtocolError.self) { try ReservedTagPrefixes(["a b"]) }
    }
}
