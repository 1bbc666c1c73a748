import Testing

@testable import Markup

struct CharacterDecodingTests {
    private func text(_ bytes: [UInt8], _ charset: String? = nil) -> String {
        String(decoding: CharacterDecoding.utf8(bytes, charset: charset).text, as: UTF8.self)
    }

    private func wide(_ text: String, bigEndian: Bool) -> [UInt8] {
        text.utf16.flatMap { unit in
            let halves = [UInt8(unit >> 8), UInt8(unit & 0xFF)]
            return bigEndian ? halves : halves.reversed()
        }
    }

    @Test func `a byte order mark decides`() {
        #expect(text([0xEF, 0xBB, 0xBF] + Array("é".utf8), "iso-8859-1") == "é")
        #expect(text([0xFF, 0xFE] + wide("<é€", bigEndian: false)) == "<é€")
        #expect(text([0xFE, 0xFF] + wide("<é€", bigEndian: true), "utf-8") == "<é€")
    }

    @Test func `UTF-16 shows without a mark`() {
        let document = "<?xml version='1.0' encoding='utf-16'?><é>😀</é>"
        #expect(text(wide(document, bigEndian: true)) == document)
        #expect(text(wide(document, bigEndian: false)) == document)
    }

    @Test func `valid UTF-8 is UTF-8 whatever is declared`() {
        let document = "<?xml version='1.0' encoding='iso-8859-1'?><é/>"
        #expect(text(Array(document.utf8), "windows-1251") == document)
        let lie = "<?xml version='1.0' encoding='utf-16'?><e/>"
        #expect(text(Array(lie.utf8)) == lie)
    }

    @Test func `the transport's charset precedes the declaration`() {
        let bytes = Array("<?xml version='1.0' encoding='iso-8859-1'?>".utf8) + [0xEF, 0xF0, 0xE8]
        #expect(text(bytes, "windows-1251").hasSuffix("при"))
        #expect(text(bytes).hasSuffix("ïðè"))
    }

    @Test(
        arguments: [
            ("iso-8859-1", [0xE9, 0x93], "é“"), ("windows-1251", [0xEF, 0xF0, 0xE8], "при"),
            ("ISO-8859-2", [0xB1, 0xE6], "ąć"), ("euc-jp", [0xC6, 0xFC, 0xCB, 0xDC], "日本"),
            ("utf-8", [0xE9], "é"), ("no-such-thing", [0xE9], "é"),
        ] as [(String, [UInt8], String)]
    )
    func `a transport's UTF-8 that is not true gives way to the declaration`(
        declared: String,
        bytes: [UInt8],
        expected: String
    ) {
        let head = "<?xml version='1.0' encoding='\(declared)'?>"
        let (decoded, fault) = CharacterDecoding.utf8(Array(head.utf8) + bytes, charset: "utf-8")
        #expect(String(decoding: decoded, as: UTF8.self) == head + expected)
        #expect(fault != nil)
    }

    @Test func `broken UTF-8 stays UTF-8 whatever the document declares`() {
        let bytes = Array("<?xml version='1.0' encoding='iso-8859-1'?>äöü".utf8) + [0xFF]
        #expect(text(bytes, "utf-8").hasSuffix("äöü\u{FFFD}"))
    }

    @Test func `ISO 2022 is decoded where either says so`() {
        let head = "<?xml version='1.0' encoding='iso-2022-jp'?>"
        let bytes = Array(head.utf8) + [0x1B, 0x24, 0x42, 0x46, 0x7C, 0x4B, 0x5C, 0x1B, 0x28, 0x42]
        #expect(text(bytes) == head + "日本")
        #expect(text(bytes, "utf-8") == head + "日本")
    }

    @Test func `Latin-1 means windows-1252`() {
        #expect(text([0x93, 0x61, 0x94, 0x97, 0x80], "ISO-8859-1") == "“a”—€")
    }

    @Test(
        arguments: [
            ("shift_jis", [0x93, 0xFA, 0x96, 0x7B], "日本"), ("gb2312", [0xD6, 0xD0, 0xB9, 0xFA], "中国"),
            ("euc-kr", [0xC7, 0xD1, 0xB1, 0xDB], "한글"), ("koi8-r", [0xF0, 0xD2, 0xC9], "При"),
            ("iso-8859-2", [0xB1, 0xE6], "ąć"),
        ] as [(String, [UInt8], String)]
    )
    func `an encoding that only the C library knows is decoded`(name: String, bytes: [UInt8], expected: String) {
        #expect(text(bytes, name) == expected)
    }

    @Test func `broken UTF-8 is repaired, text that never was UTF-8 is not`() {
        let repaired = CharacterDecoding.utf8(Array("äöü ".utf8) + [0xFF] + Array(" ß".utf8), charset: "utf-8")
        #expect(String(decoding: repaired.text, as: UTF8.self) == "äöü \u{FFFD} ß")
        #expect(repaired.fault != nil)
        #expect(text([0x63, 0x61, 0x66, 0xE9], "utf-8") == "café")
    }

    @Test func `unknown encodings, UTF-7 and NUL do no harm`() {
        #expect(text([0x61, 0xE9], "no-such-thing") == "aé")
        #expect(text(Array("+ADw-script+AD4-".utf8), "utf-7") == "+ADw-script+AD4-")
        #expect(text([0x61, 0, 0x62]) == "ab")
    }
}
