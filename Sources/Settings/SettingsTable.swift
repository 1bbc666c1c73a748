package import HubProtocol
package import NetworkAddresses

/// Every setting: the contents of the file, the environment and the flags.
package enum SettingsTable {
    package static let entries: [SettingEntry] =
        HubSettings.entries + BackendSettings.entries + PublisherSettings.entries + AgentSettings.entries

    package static func entries(_ section: SettingSection) -> [SettingEntry] {
        entries.filter { $0.section == section }
    }
}

package enum HubSettings {
    package static let listen = Setting(.hub, "listen", .address, "127.0.0.1")
        .summary("The address to listen on.")
    package static let port = Setting(.hub, "port", .wholeNumber(0...65_535), 8_787)
        .summary("The port; 0 picks a free one.")
    package static let insecureListen = Setting(.hub, "insecure-listen", .flag, false)
        .summary(
            "Accept plain HTTP from other machines, too: keys and news can be read on the network. From this machine it is always accepted."
        )
    package static let hostNames = OpenSetting(.hub, "host-names", .hostNames)
        .summary(
            """
            Names and addresses of the hub: its certificate is valid for them, and connection strings have the first one. \
            Addresses in replies have the host that the client called only if it is one of them, of this machine or from a \
            trusted proxy; otherwise the first one. Without it: localhost and this machine's names, and addresses in replies \
            have any host that the client called.
            """
        )
    package static let publicAddress = OpenSetting(.hub, "public-address", .publicAddress)
        .summary(
            """
            The address at which other machines reach the hub if it is not the first of 'host-names' at the hub's own port: \
            that of a proxy. Connection strings, invitations and addresses that the hub prints have it.
            """
        )
    package static let tlsCertificate = OpenSetting(.hub, "tls-certificate", .path)
        .summary(
            "A certificate and its chain in PEM, instead of one from the hub's own authority. Read again when it changes."
        )
    package static let tlsKey = OpenSetting(.hub, "tls-key", .keyFile)
        .summary("The key of 'tls-certificate' in PEM.")
    package static let trustedProxies = OpenSetting(.hub, "trusted-proxies", .addressBlocks)
        .summary(
            "Proxies whose X-Forwarded-For, -Host, -Port and -Proto headers are trusted, and balancers whose headers of the PROXY protocol are. Without it: none, and the Host header is used as the proxy sends it."
        )
    package static let name = Setting(.hub, "name", .hubName, HubName.standard)
        .summary("The name of the hub that the first start creates.").alias("hub")
    package static let state = OpenSetting(.hub, "state", .path)
        .summary("The state directory. Without it: $STATE_DIRECTORY, then ~/.local/state/newswire/hub.")
    package static let timeToLive =
        Setting(.hub, "time-to-live", .time(.seconds(60) ... .seconds(365 * 86_400)), .seconds(72 * 3_600))
        .summary("The time for which a message is kept for an agent that is away.")
    package static let logSize = Setting(.hub, "log-size", .size(1 << 20...1 << 40), 1 << 30)
        .summary("Maximum size of the message log; beyond it, messages are dropped before they expire.")
    package static let maximumTags = Setting(.hub, "maximum-tags", .wholeNumber(1...4_000), Installation.maximumTags)
        .summary(
            "Maximum number of tags of a registration, or of an installation together with one of its templates. Together they have at most 8,000 characters."
        )
    package static let maximumExpressionTags =
        Setting(.hub, "maximum-expression-tags", .wholeNumber(1...100), TagExpression.Limits.standard.tags)
        .summary("Maximum number of tags in a tag expression with 'and' or 'not'.")
    package static let maximumAlternatives =
        Setting(.hub, "maximum-alternatives", .wholeNumber(1...100), TagExpression.Limits.standard.alternatives)
        .summary("Maximum number of tags in a tag expression whose only operator is 'or'.")
    package static let reservedTagPrefixes = Setting(.hub, "reserved-tag-prefixes", .tagPrefixes, .standard)
        .summary("Prefixes of tags that may be set and removed only with Manage; case is ignored.")
    package static let streamsPerAddress = Setting(.hub, "streams-per-address", .wholeNumber(1...1_000_000), 20_000)
        .summary(
            "Maximum number of streams and polls that one access rule may have open from one address, and may open at once. Not for rules with Manage."
        )
    package static let streamOpenings = Setting(.hub, "stream-openings", .wholeNumber(1...100_000), 1_000)
        .summary(
            "Maximum number of streams and polls that one access rule may open from one address per second, on average. Not for rules with Manage."
        )
    package static let listenRegistrations =
        Setting(.hub, "listen-registrations", .wholeNumber(1...100_000_000), 1_000_000)
        .summary(
            "Maximum number of installations and registrations of a hub that were last written with Listen. Manage is never refused."
        )
    package static let listenSize = Setting(.hub, "listen-size", .size(1 << 20...1 << 40), 512 << 20)
        .summary(
            "Maximum size of the installations and registrations that were last written with Listen, as the hub estimates it: about four times the JSON of an agent's installation."
        )
    package static let listenWrites = Setting(.hub, "listen-writes", .wholeNumber(1...100_000), 200)
        .summary(
            "Maximum number of installations and registrations that one access rule may change from one address per second on average, and 100 times as many at once. Not for rules with Manage."
        )
    package static let changeSize = Setting(.hub, "change-size", .size(1 << 20...1 << 40), 256 << 20)
        .summary(
            "Maximum size of the former registrations that are kept for agents that are away. The oldest are dropped first; messages are never dropped for them."
        )
    package static let corsOrigins = OpenSetting(.hub, "cors-origins", .origins)
        .summary(
            "Web apps whose pages may use the hub from browsers, with a token that has Listen: its stream, pending messages, installations and browser-key. Without it: none."
        )
    package static let pushContact = OpenSetting(.hub, "push-contact", .pushContact)
        .summary(
            "The contact address for browsers' push services; without it and without a BrowserCredential, nothing is sent to browsers."
        )
    package static let pushHosts = OpenSetting(.hub, "push-hosts", .hostNames)
        .summary("Push services for browsers, in addition to those of the known browsers.")
    package static let pushAddresses = OpenSetting(.hub, "push-addresses", .addressBlocks)
        .summary("Addresses that 'push-hosts' may have in addition to public ones, such as 10.0.0.0/8.")
    package static let gcmThroughFcm = Setting(.hub, "gcm-through-fcm", .flag, false)
        .summary("Send messages in the format of the retired GCM, and to its registrations, through FCM v1.")
    package static let appBackend = Setting(.hub, "app-backend", .flag, true)
        .summary(
            "Serve the app backend for signed-in users below /api/. Without users it refuses every request with 401."
        )
    package static let pages = OpenSetting(.hub, "pages", .word as SettingFormat<PageAccess>)
        .summary(
            "Who may read the hub's pages and feeds without an account: nobody (off), requests with a token that has Listen (invited), or everybody (public). Without it: invited, and also programs on this machine if 'listen' is a loopback address and no proxy is configured."
        )
    package static let webSubHub = OpenSetting(.hub, "websub-hub", .webSubHub)
        .summary("The WebSub hub that the hub's feeds name, where feed readers can subscribe.")
    package static let alarmTag = OpenSetting(.hub, "alarm-tag", .tag)
        .summary(
            "The tag that alarms are sent to. Without it they are logged and shown to operators only. Agents may choose it unless it begins with one of 'reserved-tag-prefixes'."
        )
    package static let alarmSilences = OpenSetting(.hub, "alarm-silences", .silences)
        .summary(
            "Maximum time that categories may be without a message, such as World=6h. Without it, and for other categories: the longest time seen in at least a week, but at least 6 hours."
        )
    package static let alarmAgents = OpenSetting(.hub, "alarm-agents", .installations)
        .summary(
            "Installation ids of agents whose absence for an hour is an alarm, once they have been registered."
        )
    package static let logServers = OpenSetting(.hub, "log-servers", .logServers)
        .summary(
            "The NATS servers that order the changes of several hubs, such as tls://log1.example.org:4222. Without it, this hub runs alone."
        )
    package static let logName = Setting(.hub, "log-name", .nodeName, "newswire")
        .summary("The name of the log that these hubs share.")
    package static let logNode = OpenSetting(.hub, "log-node", .nodeName)
        .summary("The name of this hub in the log. Without it: this machine's name, up to the first dot.")
    package static let logReplicas = Setting(.hub, "log-replicas", .wholeNumber(1...5), 3)
        .summary("Number of servers that keep the log; the value of the hub that creates the log counts.")
    package static let logCredentials = OpenSetting(.hub, "log-credentials", .keyFile)
        .summary("The file with the credentials for the log's servers, as 'nsc' writes it (.creds).")
    package static let logAuthority = OpenSetting(.hub, "log-ca", .path)
        .summary(
            "The authorities in PEM that must have signed the certificates of the log's servers. Without it: the system's."
        )
    package static let logCertificate = OpenSetting(.hub, "log-certificate", .path)
        .summary("The certificate and its chain in PEM with which this hub authenticates to the log's servers.")
    package static let logKey = OpenSetting(.hub, "log-key", .keyFile)
        .summary("The key of 'log-certificate' in PEM.")
    package static let drain = Setting(.hub, "drain", .time(.seconds(0) ... .seconds(300)), .seconds(10))
        .summary("Maximum time that a stop waits for work in progress.")
    package static let logLevel =
        Setting(.hub, "log-level", .word, LogLevel.notice, sharedVariable: SharedVariable.logLevel)
        .summary("The lowest level that is logged.")

    static let entries = [
        listen.entry, port.entry, insecureListen.entry, hostNames.entry, publicAddress.entry, tlsCertificate.entry,
        tlsKey.entry, trustedProxies.entry, name.entry, state.entry, timeToLive.entry, logSize.entry, maximumTags.entry,
        maximumExpressionTags.entry, maximumAlternatives.entry, reservedTagPrefixes.entry, streamsPerAddress.entry,
        streamOpenings.entry, listenRegistrations.entry, listenSize.entry, listenWrites.entry, changeSize.entry,
        corsOrigins.entry, pushContact.entry, pushHosts.entry, pushAddresses.entry, gcmThroughFcm.entry,
        appBackend.entry, pages.entry, webSubHub.entry, alarmTag.entry, alarmSilences.entry, alarmAgents.entry,
        logServers.entry, logName.entry, logNode.entry, logReplicas.entry, logCredentials.entry, logAuthority.entry,
        logCertificate.entry, logKey.entry, drain.entry, logLevel.entry,
    ]
}

package enum PublisherSettings {
    package static let feeds = Setting(.publisher, "feeds", .path, "feeds")
        .summary("The directory of the feed lists, with one YAML file for each category.")
    package static let connection = ConnectionSettings(.publisher)
    package static let publisher = Setting(.publisher, "publisher", .publisherName, "newswire")
        .summary("The name under which the categories are announced to the hub.")
    package static let cap = Setting(.publisher, "cap", .cap, CategoryCap.atMost(5))
        .summary("Maximum number of single messages of one category in ten minutes; the rest become a digest.")
    package static let announceWithin =
        Setting(.publisher, "announce-within", .time(.seconds(60) ... .seconds(30 * 86_400)), .seconds(6 * 3_600))
        .summary("Messages that have waited longer for the hub become one digest.")
    package static let contact = OpenSetting(.publisher, "contact", .contact)
        .summary("Your contact address for operators of feed servers; part of the User-Agent header. Without it: none.")
    package static let metricsFile = OpenSetting(.publisher, "metrics-file", .path)
        .summary(
            "The file to which each pass writes its metrics for Prometheus' node_exporter (a name that ends in .prom)."
        )
    package static let callback = OpenSetting(.publisher, "callback", .callback)
        .summary(
            "The public address below which feeds' hubs reach 'publish --watch'. Without it, feeds are only polled."
        )
    package static let listen =
        Setting(.publisher, "listen", .listenAddress, ListenAddress(host: "127.0.0.1", port: 8_789))
        .summary(
            "The address at which 'publish --watch' listens for hubs, behind a TLS proxy at the callback address; port 0 picks a free one."
        )
    package static let listEdits = Setting(.publisher, "list-edits", .flag, false)
        .summary("Operators at the hub may add feeds to the feed lists, and remove them, on the hub's pages.")
    package static let state = OpenSetting(.publisher, "state", .path)
        .summary("The state directory. Without it: $STATE_DIRECTORY, then ~/.local/state/newswire/publisher.")
    package static let logLevel =
        Setting(.publisher, "log-level", .word, LogLevel.warning, sharedVariable: SharedVariable.logLevel)
        .summary("The lowest level that is logged.")

    static let entries =
        [feeds.entry] + connection.entries
        + [
            publisher.entry, cap.entry, announceWithin.entry, contact.entry, metricsFile.entry,
            callback.entry, listen.entry, listEdits.entry, state.entry, logLevel.entry,
        ]
}

package enum AgentSettings {
    package static let connection = ConnectionSettings(.agent)
    package static let exec = OpenSetting(.agent, "exec", .program)
        .summary("Run this program for each message. Without it messages are printed.")
    package static let notify = Setting(.agent, "notify", .flag, false)
        .summary("Show each message on the desktop instead of printing it. Without a desktop it is printed.")
    package static let handlerTimeout =
        Setting(.agent, "handler-timeout", .time(.seconds(1) ... .seconds(3_600)), .seconds(30))
        .summary("Maximum time for one attempt of a handler.")
    package static let inboxSize = Setting(.agent, "inbox-size", .wholeNumber(100...1_000_000), 10_000)
        .summary(
            "Maximum number of finished messages that the inbox keeps, in at most 64 MiB; the oldest are removed first. As many may wait for a handler before the agent stops reading, and the hub keeps the rest."
        )
    package static let logLevel =
        Setting(.agent, "log-level", .word, LogLevel.warning, sharedVariable: SharedVariable.logLevel)
        .summary("The lowest level that is logged.")

    static let entries =
        connection.entries + [exec.entry, notify.entry, handlerTimeout.entry, inboxSize.entry, logLevel.entry]
}

/// Settings by which a client finds its hub; the same for senders and listeners.
package struct ConnectionSettings: Sendable {
    package let hub: Setting<String>
    package let connectionFile: OpenSetting<String>
    package let authorityFile: OpenSetting<String>
    package let allowPlainHTTP: Setting<Bool>

    init(_ section: SettingSection) {
        hub = Setting(section, "hub", .hubName, HubName.standard)
            .summary("The hub's name.")
        connectionFile =
            OpenSetting(section, "connection-file", .secretFile, sharedVariable: SharedVariable.connectionFile)
            .summary(
                "The file with the connection string. Without it: the file that your hub on this machine wrote."
            )
        authorityFile = OpenSetting(section, "ca-file", .path, sharedVariable: SharedVariable.authorityFile)
            .summary(
                "The authorities in PEM that must have signed the hub's certificate, as shown by 'newswire hub certificate' on its machine. Without it: the system's."
            )
        allowPlainHTTP = Setting(section, "allow-plain-http", .flag, false)
            .summary("Send keys and news over plain HTTP to a hub on another machine.")
    }

    package var entries: [SettingEntry] {
        [hub.entry, connectionFile.entry, authorityFile.entry, allowPlainHTTP.entry]
    }
}

/// Variables that apply to every program with their setting.
enum SharedVariable {
    static let logLevel = "NEWSWIRE_LOG_LEVEL"
    static let connectionFile = "NEWSWIRE_CONNECTION_FILE"
    static let authorityFile = "NEWSWIRE_CA_FILE"
}

/// Number of messages of one category that a pass may send singly.
package enum CategoryCap: Sendable, Equatable, CustomStringConvertible {
    case none
    case atMost(Int)

    package var limit: Int? {
        switch self {
        case .none: nil
        case .atMost(let number): number
        }
    }

    package var description: String { limit.map(String.init) ?? "none" }
}

package enum LogLevel: String, Sendable, CaseIterable {
    case trace, debug, info, notice, warning, error
}
