/// Writes XML as the service does: on one line, without white space between elements.
///
/// Source: protocol §0.7, §3.3.
struct XMLOutput {
    private(set) var bytes: [UInt8] = []

    init(reserving count: Int = 0) { bytes.reserveCapacity(count) }

    /// Appends markup, or text that needs no escaping.
    mutating func raw(_ text: String) { bytes.append(contentsOf: text.utf8) }

    mutating func text(_ text: String) { XMLText.append(escaped: text, quote: nil, to: &bytes) }

    /// Appends an attribute in double quotes.
    mutating func attribute(_ value: String) {
        XMLText.append(escaped: value, quote: UInt8(ascii: "\""), to: &bytes)
    }

    mutating func element(_ name: String, _ content: String) {
        element(name) { $0.text(content) }
    }

    mutating func element(_ name: String, _ content: (inout XMLOutput) -> Void) {
        bytes.append(UInt8(ascii: "<"))
        raw(name)
        bytes.append(UInt8(ascii: ">"))
        content(&self)
        raw("</")
        raw(name)
        bytes.append(UInt8(ascii: ">"))
    }

    mutating func emptyElement(_ name: String) {
        bytes.append(UInt8(ascii: "<"))
        raw(name)
        raw("/>")
    }

    /// Appends a CDATA section, or several if the text contains the end of one.
    ///
    /// Characters that XML cannot contain become U+FFFD. XML readers turn a carriage return into a line feed (XML 1.0
    /// §2.11), as they did in the original document.
    mutating func cdata(_ text: String) {
        raw("<![CDATA[")
        var closing = 0
        for byte in XMLText.permitted(text).utf8 {
            if byte == UInt8(ascii: ">"), closing >= 2 { raw("]]><![CDATA[") }
            closing = byte == UInt8(ascii: "]") ? closing + 1 : 0
            bytes.append(byte)
        }
        raw("]]>")
    }
}
