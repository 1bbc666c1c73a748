import Foundation
import HostSystem

/// The form of JSON output: one line, keys in order, dates in ISO 8601, safe for a terminal.
enum JSON {
    static func line(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        return TerminalText.escaped(json: String(decoding: try encoder.encode(value), as: UTF8.self))
    }
}
