import Foundation
import HubProtocol
import Testing

@testable import Settings

@Suite struct SettingsReferenceTests {
    private static let repository = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    private static let document = repository.appending(path: "docs/configuration.md")

    @Test func `the reference in docs is the code's own table`() throws {
        let text = try String(contentsOf: Self.document, encoding: .utf8)
        let start = try #require(text.firstRange(of: "\n## `hub:`")).lowerBound
        let tables = text[start...].trimmingCharacters(in: .newlines)
        #expect(
            tables == SettingsReference.sections,
            "put this at the end of docs/configuration.md:\n\(SettingsReference.sections)"
        )
    }

    @Test(arguments: ["systemd/newswire-hub.service", "systemd/user/newswire-hub.service"])
    func `a hub's unit gives a stop more time than the longest drain`(path: String) throws {
        let text = try String(contentsOf: Self.repository.appending(path: path), encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("TimeoutStopSec=") })
        #expect(throws: SettingValueError.self) { try HubSettings.drain.entry.read("\(line.dropFirst(15))s") }
    }

    @Test(arguments: ["systemd/newswire-backend.service", "systemd/user/newswire-backend.service"])
    func `a unit of the app backend gives a stop more time than the longest drain`(path: String) throws {
        let text = try String(contentsOf: Self.repository.appending(path: path), encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("TimeoutStopSec=") })
        #expect(throws: SettingValueError.self) { try BackendSettings.drain.entry.read("\(line.dropFirst(15))s") }
    }

    @Test(arguments: [
        "systemd/newswire-hub.service", "systemd/user/newswire-hub.service", "systemd/newswire-backend.service",
        "systemd/user/newswire-backend.service",
    ])
    func `the unit of a server bounds its memory and its threads, as docs derive it`(path: String) throws {
        let unit = try String(contentsOf: Self.repository.appending(path: path), encoding: .utf8)
        let guide = try String(contentsOf: Self.repository.appending(path: "docs/limits.md"), encoding: .utf8)
        for name in ["MemoryMax=", "TasksMax="] {
            let line = try #require(unit.split(separator: "\n").first { $0.hasPrefix(name) })
            #expect(guide.contains("`\(line)`"))
        }
    }

    @Test func `the example in docs can be used`() throws {
        let text = try String(contentsOf: Self.document, encoding: .utf8)
        let start = try #require(text.firstRange(of: "```yaml\n")).upperBound
        let end = try #require(text[start...].firstRange(of: "```")).lowerBound
        var reader = SettingsFileReader(file: "/etc/newswire/newswire.yaml")
        let given = reader.read(String(text[start..<end]))
        #expect(reader.problems == [])
        for entry in SettingsTable.entries {
            guard let value = given[entry.id] else { continue }
            #expect(throws: Never.self, "\(entry.key)") { try entry.read(value.text) }
        }
        #expect(given["publisher.feeds"]?.text == "/etc/newswire/feeds")
    }

    @Test func `the example of hubs in docs can be used`() throws {
        let text = try String(contentsOf: Self.document, encoding: .utf8)
        let start = try #require(text.firstRange(of: "```yaml\nnamespace:")).lowerBound
        let end = try #require(text[start...].dropFirst(3).firstRange(of: "```")).lowerBound
        var reader = SettingsFileReader(file: "/etc/newswire/newswire.yaml")
        _ = reader.read(String(text[start..<end].dropFirst(8)))
        #expect(reader.problems == [])
        #expect(reader.hubs.hubs.map(\.name.text) == ["orders", "billing"])
        #expect(reader.hubs.hubs[0].rules.map(\.rights) == [[.listen, .manage, .send], .send])
        #expect(reader.hubs.rules.count == 1)
    }

    /// The texts of the Swift files below a folder of the repository.
    private static func sources(_ folder: String) throws -> [String] {
        let root = repository.appending(path: folder)
        let names = try FileManager.default.subpathsOfDirectory(atPath: root.path).sorted()
        return try names.filter { $0.hasSuffix(".swift") }.map { name in
            try String(contentsOf: root.appending(path: name), encoding: .utf8)
        }
    }

    @Test func `every declared setting is in the table, and thus in the reference`() throws {
        var declared: [String] = []
        var (keys, sections): ([String], [String]) = ([], [])
        for text in try Self.sources("Sources/Settings") {
            for match in text.matches(of: /Setting\(\.([a-z]+),\s*"([a-z-]+)"/) {
                declared.append("\(match.output.1).\(match.output.2)")
            }
            keys += text.matches(of: /Setting\(section,\s*"([a-z-]+)"/).map { String($0.output.1) }
            sections += text.matches(of: /ConnectionSettings\(\.([a-z]+)\)/).map { String($0.output.1) }
        }
        // The four settings by which a client finds its hub.
        try #require(keys.count == 4 && !sections.isEmpty && !declared.isEmpty)
        for section in sections { declared += keys.map { "\(section).\($0)" } }
        #expect(declared.sorted() == SettingsTable.entries.map(\.id).sorted())
    }

    /// `SettingEffectTests` gives each setting of the hub and the app backend a value instead.
    @Test(arguments: [("publisher", "PublisherSettings"), ("agent", "AgentSettings")])
    func `each setting of a client is read by the program`(section: String, type: String) throws {
        let declarations = try Self.sources("Sources/Settings").joined()
        let names = declarations.matches(of: /static let (\w+) =\s*(?:Open)?Setting\(\.([a-z]+),/)
            .filter { $0.output.2 == section }.map { $0.output.1 }
        let program = try Self.sources("Sources/newswire").joined()
        // Beside those by which a client finds its hub.
        let entries = SettingsTable.entries(try #require(SettingSection(rawValue: section)))
        #expect(names.count + 4 == entries.count)
        for name in names { #expect(program.contains("settings.value(\(type).\(name)"), "\(type).\(name)") }
        #expect(program.contains("\(type).connection)"))
    }

    @Test func `keys are flags, and no two settings share a variable`() {
        let entries = SettingsTable.entries
        #expect(Set(entries.map(\.variable)).count == entries.count)
        for entry in entries {
            #expect(entry.key.allSatisfy { $0.isLowercase || $0 == "-" }, "\(entry.key)")
            #expect(entry.summary.hasSuffix("."), "\(entry.key)")
        }
    }

    @Test func `every default is a value that may be written`() throws {
        for entry in SettingsTable.entries {
            guard let text = entry.defaultText else { continue }
            #expect(throws: Never.self, "\(entry.id) \(text)") { try entry.read(text) }
        }
    }
}
