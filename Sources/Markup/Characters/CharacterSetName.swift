/// Names of encodings as publishers spell them, mapped to the actual encodings (WHATWG Encoding §4.2).
enum CharacterSetName {
    private static let aliases: [String: String] = [
        "utf8": "utf-8", "unicode": "utf-8", "utf": "utf-8", "unicode-1-1-utf-8": "utf-8", "x-unicode20utf8": "utf-8",
        "us-ascii": "windows-1252", "ascii": "windows-1252", "ansi": "windows-1252", "iso-8859-1": "windows-1252",
        "iso8859-1": "windows-1252", "iso88591": "windows-1252", "iso_8859-1": "windows-1252", "l1": "windows-1252",
        "latin1": "windows-1252", "latin-1": "windows-1252", "cp1252": "windows-1252", "x-cp1252": "windows-1252",
        "win-1252": "windows-1252", "windows1252": "windows-1252", "iso-8859-9": "windows-1254",
        "gb2312": "gb18030", "gbk": "gb18030", "gb_2312-80": "gb18030", "x-gbk": "gb18030", "cp936": "gb18030",
        "ks_c_5601-1987": "cp949", "euc-kr": "cp949", "windows-949": "cp949", "big5": "big5-hkscs",
        "x-x-big5": "big5-hkscs", "shift_jis": "cp932", "shift-jis": "cp932", "sjis": "cp932", "x-sjis": "cp932",
        "windows-31j": "cp932", "win-1251": "windows-1251", "cp1251": "windows-1251", "x-euc-jp": "euc-jp",
    ]

    /// The canonical name; `nil` for an invalid name, and for UTF-7, which hides markup from every filter.
    static func canonical(_ name: String) -> String? {
        let name = name.lowercased().filter { !$0.isWhitespace && $0 != "\"" && $0 != "'" }
        let isName = name.utf8.allSatisfy { byte in
            0x30...0x3A ~= byte || 0x61...0x7A ~= byte || byte == 0x2D || byte == 0x5F || byte == 0x2E
        }
        guard !name.isEmpty, name.utf8.count <= 40, isName, !name.contains("utf-7"), name != "utf7" else { return nil }
        return aliases[name] ?? name
    }
}
