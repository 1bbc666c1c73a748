import Foundation
import Formats
import HostSystem
import HubProtocol
import WebPages

/// The text that a command prints for people; safe for a terminal whatever a hub or a feed sends.
enum Output {
    /// Lines of cells with two spaces between them; absent cells are left out.
    case rows([[String?]])
    /// Labelled values, one below the other.
    case facts([ReportFact])
    /// Labelled values below headings.
    case sections([OperatorSection])
    case lines([String])

    static func row(_ cells: String?...) -> Output { .rows([cells]) }

    /// Longest label beside which values begin in one column.
    private static let widestLabel = 32

    var lines: [String] {
        switch self {
        case .rows(let rows): rows.map { TerminalText.safe($0.compactMap(\.self).joined(separator: "  ")) }
        case .facts(let facts): Self.lines(facts)
        case .sections(let sections):
            sections.flatMap { section in [section.title] + Self.lines(section.facts).map { "  \($0)" } }
        case .lines(let lines): lines.map(TerminalText.safe)
        }
    }

    private static func lines(_ facts: [ReportFact]) -> [String] {
        let labels = facts.map { TerminalText.safe($0.name.prefix(1).lowercased() + $0.name.dropFirst()) }
        let width = min(labels.map(\.count).max() ?? 0, widestLabel) + 2
        return zip(labels, facts).flatMap { label, fact in
            fact.value.split(separator: "\n", omittingEmptySubsequences: false).enumerated().map { place, line in
                let start = place == 0 ? label : ""
                let space = String(repeating: " ", count: max(1, width - start.count))
                return start + space + TerminalText.safe(String(line))
            }
        }
    }
}

extension Console {
    /// Prints data for people.
    static func show(_ text: Output) { for line in text.lines { print(line) } }

    /// Prints a value: as one line of JSON if `asJSON` is true, else as text for people.
    static func show(_ value: some Encodable, asJSON: Bool, _ text: @autoclosure () -> Output) throws {
        if asJSON { print(try JSON.line(value)) } else { show(text()) }
    }

    /// Prints a value whose members are written here, in the order of their names.
    static func show(_ json: @autoclosure () -> JSONText, asJSON: Bool, _ text: @autoclosure () -> Output) {
        if asJSON { print(JSON.line(json())) } else { show(text()) }
    }
}

/// JSON output: one line, sorted keys, ISO 8601 dates, safe for a terminal.
enum JSON {
    static func line(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder.plain
        encoder.dateEncodingStrategy = .iso8601
        return TerminalText.escaped(json: try encoder.text(value))
    }

    static func line(_ json: JSONText) -> String { TerminalText.escaped(json: json.text) }
}
