package import NetworkAddresses

/// The servers of a replicated log, and this node's part in it.
package struct ReplicatedLogConfiguration: Sendable {
    package var servers: [LogServer]
    /// The name of the log, which its nodes have in common: letters, digits, `-` and `_`.
    package var name: String
    /// The name of this node, which no other node of the log has: letters, digits, `-` and `_`.
    package var node: String
    /// Number of servers that keep the log; used by the node that creates it.
    package var replicas = 3
    /// A file with the user's JWT and seed, as `nsc` writes it.
    package var credentials: String?
    /// The authorities in PEM that the servers' certificates are checked with; `nil` for the system's.
    package var authority: String?
    /// The files of the certificate by which the servers identify this node, and of its key.
    package var certificate: String?
    package var key: String?

    /// Bytes of entries that the servers keep; the oldest are dropped first.
    var maximumBytes: Int64 = 4 << 30
    /// Time for which the servers keep an entry.
    var maximumAge = Duration.seconds(86_400)
    /// Time within which the log must accept an entry.
    var patience = Duration.seconds(10)
    /// Time within which the log must answer a node that reads it.
    var readingPatience = Duration.seconds(5)
    /// Time after which a node looks for entries even if nothing wakes it up.
    var wakeUpInterval = Duration.seconds(1)
    /// True if the servers are tried in the order in which they are given, not in a random one.
    var keepsOrder = false
    /// Time for which a start waits for the servers, which may be starting as well.
    var startPatience = Duration.seconds(20)

    package init(servers: [LogServer], name: String, node: String) {
        self.servers = servers
        self.name = name
        self.node = node
    }

    /// The reasons why a node cannot use this configuration.
    package var problems: [String] {
        var problems: [String] = []
        if servers.isEmpty { problems.append("a replicated log needs at least one server") }
        for server in servers where !server.usesTLS && !server.host.isLoopback {
            problems.append(
                "the log contains keys, so a server on another machine needs TLS: "
                    + "write '\(server.withTLS)' instead of '\(server)'"
            )
        }
        if usesTLS, let plain = servers.first(where: { !$0.usesTLS }) {
            problems.append("'\(plain)' has no TLS and other servers of the log have: use TLS for all of them")
        }
        if !usesTLS, authority != nil || certificate != nil {
            problems.append("certificates are set, but no server of the log has an address that begins with 'tls://'")
        }
        if (certificate == nil) != (key == nil) {
            problems.append("the certificate of a node and its key need each other: set both, or neither")
        }
        return problems
    }

    var usesTLS: Bool { servers.contains(where: \.usesTLS) }
    var subjects: LogSubjects { LogSubjects(name: name) }
}

/// The names of a log on its servers.
struct LogSubjects: Sendable {
    let name: String

    var stream: String { "newswire_\(name)" }
    /// The subject that entries are published to.
    ///
    /// It contains the log's incarnation, so that no entry gets into a log that was started again.
    func entries(_ incarnation: String) -> String { "newswire.\(name).log.\(incarnation)" }
    /// The subject that a closed log has instead; nothing is published to it.
    func closed(_ incarnation: String) -> String { "newswire.\(name).closed.\(incarnation)" }
    /// The subject of the entries that are stored.
    var stored: String { "newswire.\(name).stored" }
    /// The subject of announcements.
    var all: String { "newswire.\(name).all" }
    func requests(of node: String) -> String { "newswire.\(name).node.\(node)" }
    func presence(of node: String) -> String { "newswire.\(name).presence.\(node)" }
}
