import Foundation
import HostSystem
import HubProtocol

/// JSON output: one line, sorted keys, ISO 8601 dates, safe for a terminal.
enum JSON {
    static func line(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder.plain
        encoder.dateEncodingStrategy = .iso8601
        return TerminalText.escaped(json: try encoder.text(value))
    }
}
