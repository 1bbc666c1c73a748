import Foundation
import HubProtocol
import HubTestServer
import Testing

@testable import FeedLists
@testable import FeedPublisher

/// Alerts as one service sends them, and passes over the feeds that carry them.
struct AlertRoom {
    /// One CAP message in an index; `number` tells it from others, and is the minute of its sending.
    struct Warning {
        var number: Int
        /// Whether it says its identifier.
        var isNamed = true
        /// Left out where `nil`.
        var sender: String? = "met@weather.example"
        var type = "Alert"
        var references: [Int] = []
        var headline: String?
        var status = "Actual"
        var urgency = "Expected"
        var severity = "Moderate"
        /// Minute of ``sent``, where it is another than the number.
        var minute: Int?
        /// Seconds from now on.
        var expires: Double?

        /// Those without a reference of their own have one.
        var hasOwnPage: Bool { !isNamed || sender == nil }

        init(_ number: Int, _ type: String = "Alert", _ references: [Int] = [], headline: String? = nil) {
            self.number = number
            self.type = type
            self.references = references
            self.headline = headline
        }
    }

    let room: Newsroom
    let paths: [String]
    var rules = ""

    /// Feeds of one category that were read once; most were empty then.
    init(_ paths: [String] = ["/w"], rules: String = "", first: [Warning] = []) async throws {
        room = try Newsroom()
        self.paths = paths
        self.rules = rules
        for path in paths { publish(path, first) }
        try await pass(60)
    }

    func lists() throws -> FeedLists {
        var text = "category: Weather\nevery: 1m\n\(rules)\nfeeds:\n"
        for path in paths { text += "  - url: \(room.site.url(path))\n    local: true\n" }
        return try FeedLists.parse([(file: "w.yaml", text: text)])
    }

    /// Sets what a feed holds, the newest first.
    func publish(_ path: String = "/w", _ warnings: [Warning]) {
        let entries = warnings.map { warning in
            let references = warning.references.map { "met@weather.example,w\($0),\(sent(Warning($0)))" }
            return """
                <entry><id>urn:\(warning.number)</id><title>\(title(warning))</title>
                <link href="https://weather.example/warnings\(warning.hasOwnPage ? "/\(warning.number)" : "")"/>
                \(warning.isNamed ? "<cap:identifier>w\(warning.number)</cap:identifier>" : "")
                \(warning.sender.map { "<cap:sender>\($0)</cap:sender>" } ?? "")
                <cap:sent>\(sent(warning))</cap:sent><cap:status>\(warning.status)</cap:status>
                <cap:msgType>\(warning.type)</cap:msgType><cap:scope>Public</cap:scope>
                <cap:references>\(references.joined(separator: " "))</cap:references>
                <cap:event>Flood</cap:event><cap:urgency>\(warning.urgency)</cap:urgency>
                <cap:severity>\(warning.severity)</cap:severity>
                \(warning.expires.map { "<cap:expires>\((room.now + $0).formatted(.iso8601))</cap:expires>" } ?? "")
                </entry>
                """
        }
        let head = """
            <feed xmlns="http://www.w3.org/2005/Atom" xmlns:cap="urn:oasis:names:tc:emergency:cap:1.2">
            <title>Weather</title>
            """
        room.site.set(path, FakeSite.Document(body: head + entries.joined() + "</feed>"))
    }

    private func title(_ warning: Warning) -> String { warning.headline ?? "\(warning.type) \(warning.number)" }

    private func sent(_ warning: Warning) -> String {
        (Date(timeIntervalSince1970: 1_779_990_000) + Double(warning.minute ?? warning.number) * 60).formatted(.iso8601)
    }

    @discardableResult
    func pass(_ seconds: Double = 60, _ change: (inout PublishOptions) -> Void = { _ in }) async throws -> PublishReport
    {
        room.advance(seconds)
        return try await room.pass(try lists(), change)
    }

    /// Publishes and passes.
    func bring(_ warnings: [Warning], to path: String = "/w") async throws {
        publish(path, warnings)
        try await pass()
    }

    func properties() throws -> [MessageProperties] {
        try room.hub.messages.map { try MessageProperties(json: $0.body) }
    }

    /// Why the entries of the first feed are silent in a dry run, by title.
    func skipped() async throws -> [String: String] {
        room.advance(60)
        let entries = try await room.preview(try lists()).feeds.first?.entries ?? []
        return Dictionary(
            entries.compactMap { entry in
                guard case .silent(let reason, _) = entry.fate else { return nil }
                return (entry.title, reason.name)
            }
        ) { first, _ in first }
    }
}
