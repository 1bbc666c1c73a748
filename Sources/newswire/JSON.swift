import Foundation
import HostSystem

/// JSON output: one line, sorted keys, ISO 8601 dates, safe for a terminal.
enum JSON {
    static func line(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        return TerminalText.escaped(json: String(decoding: try encoder.encode(value), as: UTF8.self))
    }
}
