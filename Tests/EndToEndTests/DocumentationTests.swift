import Foundation
import Testing

/// What `docs/` promises to keep stable is what the sources have.
struct DocumentationTests {
    private static func text(_ path: String) throws -> String {
        try String(contentsOfFile: "\(BuiltProgram.repository)/\(path)", encoding: .utf8)
    }

    private static func sources() throws -> [String] {
        let root = "\(BuiltProgram.repository)/Sources"
        let files = try FileManager.default.subpathsOfDirectory(atPath: root).filter { $0.hasSuffix(".swift") }
        return try files.map { try text("Sources/\($0)") }
    }

    private static func names(_ pattern: Regex<(Substring, Substring)>, in texts: [String]) -> Set<String> {
        Set(texts.flatMap { $0.matches(of: pattern).map { String($0.output.1) } })
    }

    private static var metrics: Set<String> {
        get throws {
            names(/"((?:newswire|process)_[a-z_]+)"/, in: try sources().filter { $0.contains("import PrometheusText") })
        }
    }

    @Test func `every metric is in the operator's guide, and no other`() throws {
        let guide = try Self.text("docs/monitoring.md")
        let listed = Self.names(/`((?:newswire|process)_[a-z_]+)`/, in: [guide])
        #expect(try listed == Self.metrics)
    }

    @Test(arguments: ["docs/grafana-dashboard.json", "docs/monitoring.md"])
    func `dashboard and alarms ask for metrics that there are`(path: String) throws {
        let asked = Self.names(/\b((?:newswire|process)_[a-z]+_[a-z_]+)\b/, in: [try Self.text(path)])
        #expect(try asked.subtracting(Self.metrics) == [])
        #expect(!asked.isEmpty)
    }

    @Test func `the dashboard shows every metric but the version`() throws {
        let shown = Self.names(/\b((?:newswire|process)_[a-z_]+)\b/, in: [try Self.text("docs/grafana-dashboard.json")])
        #expect(
            try Self.metrics.subtracting(shown) == ["newswire_build_info", "process_start_time_seconds"]
        )
    }

    @Test func `every key that is logged is in the operator's guide, and no other`() throws {
        let guide = try Self.text("docs/monitoring.md")
        let table = try #require(guide.split(separator: "The keys are stable:").last?.split(separator: "\n\n").first)
        let listed = Self.names(#/\| `([a-z.]+)` \|/#, in: [String(table)])
        let calls = try Self.sources().flatMap { source in
            source.matches(of: /metadata: \[([^\]]*)\]/).map { String($0.output.1) }
        }
        let logged = Self.names(#/"([a-z.A-Z_-]+)": /#, in: calls)
        #expect(listed == logged)
        #expect(logged.allSatisfy { $0.contains(".") && $0 == $0.lowercased() })
    }
}
