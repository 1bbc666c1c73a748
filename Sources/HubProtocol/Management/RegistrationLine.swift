import Formats

extension Registration {
    /// The description as one line of an export, without its line end; line ends in a template become references.
    package var exportLine: [UInt8] { RegistrationLine.joined(encodedDescription) }
}

/// A line of a job's file: one serialised description (protocol §8.1).
package enum RegistrationLine {
    private static let opening = Array("<![CDATA[".utf8)
    private static let closing = Array("]]>".utf8)

    /// The same document without line ends.
    static func joined(_ xml: [UInt8]) -> [UInt8] {
        guard xml.contains(where: isLineEnd) else { return xml }
        var line: [UInt8] = []
        line.reserveCapacity(xml.count + 64)
        var isSection = false
        for (index, byte) in xml.enumerated() {
            if isLineEnd(byte) {
                let reference = byte == UInt8(ascii: "\n") ? "&#10;" : "&#13;"
                line += isSection ? closing + reference.utf8 + opening : Array(reference.utf8)
                continue
            }
            line.append(byte)
            if !isSection, byte == UInt8(ascii: "["), xml[...index].suffix(opening.count).elementsEqual(opening) {
                isSection = true
            } else if isSection, byte == UInt8(ascii: ">"), xml[...index].suffix(closing.count).elementsEqual(closing) {
                isSection = false
            }
        }
        return line
    }

    /// A line that could not be imported, followed by the reason as a comment, so that it can be corrected and imported
    /// again.
    package static func failed(_ record: [UInt8], number: Int, reason: String) -> [UInt8] {
        // Two dashes would end the comment.
        var comment = ""
        for scalar in reason.unicodeScalars {
            switch scalar {
            case "-" where comment.last == "-": comment += " -"
            case _ where scalar.value < 0x20: comment += " "
            default: comment.unicodeScalars.append(scalar)
            }
        }
        return joined(record) + "<!-- line \(number): \(comment) -->".utf8
    }

    /// Returns the id of the registration that a line names, regardless of the rest; `nil` if it names none.
    package static func statedID(in line: [UInt8]) -> RegistrationID? {
        let text = String(decoding: line, as: UTF8.self)
        for mark in ["<RegistrationId>", ":RegistrationId>"] {
            guard let start = text.range(ofASCII: mark)?.upperBound else { continue }
            let id = String(text[start...].prefix { $0 != "<" }.trimmed)
            return try? RegistrationID(id)
        }
        return nil
    }

    private static func isLineEnd(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") }
}
