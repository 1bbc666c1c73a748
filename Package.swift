// swift-tools-version: 6.2
import PackageDescription

/// The commit that the Makefile names.
///
/// `Context.gitInformation` would be that of the last change of the manifest, since SwiftPM caches what a manifest says. The environment
/// is part of the cache's key.
let commit: String = {
    guard let name = Context.environment["NEWSWIRE_COMMIT"] else { return "unknown" }
    let hash = name.hasSuffix("-dirty") ? name.dropLast(6) : name[...]
    return !hash.isEmpty && hash.allSatisfy(\.isHexDigit) ? name : "unknown"
}()

// A target imports only targets above it; `make lint` compares every import with these dependencies.
let package = Package(
    name: "newswire",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "newswire", targets: ["newswire"])],
    // Exact, as in packaging/packages.json, which also has the packages that these need: a commit means one build.
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-asn1", exact: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", exact: "1.21.1"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", exact: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", exact: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1"),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", exact: "2.1.1"),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
    ],
    targets: [
        // System libraries.
        .systemLibrary(
            name: "CLibXML2",
            pkgConfig: "libxml-2.0",
            providers: [.apt(["libxml2-dev"])]
        ),
        .systemLibrary(
            name: "CZlib",
            pkgConfig: "zlib",
            providers: [.apt(["zlib1g-dev"])]
        ),
        .systemLibrary(name: "CHostSystem"),
        .systemLibrary(name: "CYamlLimits"),
        .systemLibrary(
            name: "CCurl",
            pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev"])]
        ),
        .systemLibrary(
            name: "CNghttp2",
            pkgConfig: "libnghttp2",
            providers: [.apt(["libnghttp2-dev"])]
        ),
        .systemLibrary(
            name: "CSystemd",
            pkgConfig: "libsystemd",
            providers: [.apt(["libsystemd-dev"])]
        ),
        .systemLibrary(
            name: "CNats",
            pkgConfig: "libnats",
            providers: [.apt(["libnats-dev"])]
        ),

        // Leaves: formats and this machine.
        .target(name: "Formats"),
        .target(name: "Signals", dependencies: [.serviceLifecycle]),
        .target(name: "Markup", dependencies: ["CLibXML2"]),
        .target(name: "ServerSentEvents"),
        .target(name: "PrometheusText"),
        .target(name: "DomainNames", dependencies: ["Formats"]),
        .target(name: "NetworkAddresses", dependencies: ["Formats"]),
        .target(name: "FairShares", dependencies: ["NetworkAddresses"]),
        .target(name: "HostSystem", dependencies: ["CHostSystem", "Formats"]),
        .target(
            name: "Certificates",
            dependencies: ["Formats", "HostSystem", "NetworkAddresses", .crypto, .x509, .asn1]
        ),
        .target(name: "YAMLFiles", dependencies: ["CYamlLimits", "Formats", .yams]),
        .target(
            name: "DesktopNotifications",
            dependencies: ["CSystemd", "Formats", "HostSystem", "NetworkAddresses", "Signals"]
        ),

        // Vocabularies: what feeds say, what travels between hub and clients, and how files hold it.
        .target(name: "Feeds", dependencies: ["Formats", "Markup", "DomainNames", "CZlib", .crypto]),
        .target(name: "HubProtocol", dependencies: ["Formats", "Markup", "NetworkAddresses", .crypto]),
        .target(name: "WebTokens", dependencies: ["Formats", "HubProtocol", .crypto, .cryptoExtras]),
        .target(name: "SQLiteFiles", dependencies: ["Formats", "HostSystem", "HubProtocol", .crypto, .grdb]),

        // What operators are woken for.
        .target(name: "Alarms", dependencies: ["HubProtocol"]),

        // What people and feed readers see, apart from how it is asked for.
        // Its files are compiled in: resources would have to be installed beside the program.
        .target(name: "CWebFiles", exclude: ["files"]),
        .target(
            name: "WebPages",
            dependencies: ["Formats", "CWebFiles", "HubProtocol", "Markup", "NetworkAddresses", .crypto, .mustache]
        ),

        // What can be configured, and where it is found; the defaults of hub, app backend, publisher and agent.
        .target(
            name: "Settings",
            dependencies: ["Formats", "HostSystem", "HubProtocol", "NetworkAddresses", "YAMLFiles", .yams]
        ),

        // Into this machine: what every server does with a request.
        .target(
            name: "WebEdge",
            dependencies: [
                "Formats", "HubProtocol", "NetworkAddresses", "FairShares", "Signals", "Certificates", .httpTypes,
                .hummingbird, .log, .nioCore, .nioHTTP1, .nioSSL,
            ]
        ),

        // Out of this machine, and to a hub.
        .target(
            name: "OutboundHTTP",
            dependencies: ["DomainNames", "Formats", "HostSystem", "NetworkAddresses", "Signals", "CCurl", "CNghttp2"]
        ),
        .target(
            name: "HubClient",
            dependencies: ["Formats", "HubProtocol", "NetworkAddresses", "ServerSentEvents", "OutboundHTTP"]
        ),
        .target(
            name: "PushServices",
            dependencies: [
                "Formats", "HubProtocol", "OutboundHTTP", "WebTokens", "NetworkAddresses", "Signals", .crypto,
                .cryptoExtras,
                .nioCore, .nioSSL,
                .x509,
                .asn1,
            ]
        ),
        // Answers for the push services, to try an app without their accounts.
        .target(
            name: "PushEmulator",
            dependencies: [
                "Formats", "Markup", "HubProtocol", "WebTokens", "Certificates", "NetworkAddresses", "Signals",
                "WebEdge", .crypto, .log,
                .nioCore,
                .nioPosix,
                .nioHPACK,
                .nioHTTP2,
                .nioHTTP1, .nioSSL, .nioTLS,
            ]
        ),

        // The hub.
        .target(name: "HubRouting", dependencies: ["HubProtocol", "FairShares", "NetworkAddresses"]),
        .target(
            name: "HubStore",
            dependencies: ["Formats", "HostSystem", "HubProtocol", "HubRouting", "SQLiteFiles", .crypto, .grdb]
        ),
        .target(
            name: "ReplicatedLog",
            dependencies: [
                "Formats", "HubProtocol", "HubStore", "HostSystem", "NetworkAddresses", "Signals", "CNats", .log,
            ]
        ),
        .target(
            name: "HubStreams",
            dependencies: ["HubProtocol", "HubRouting", "Signals", "ServerSentEvents", .nioCore]
        ),
        .target(
            name: "HubServer",
            dependencies: [
                "Formats", "HubProtocol", "HubRouting", "HubStore", "HubStreams", "PushServices", "PrometheusText",
                "SQLiteFiles", "Alarms", "WebPages", "NetworkAddresses", "FairShares", "Signals", "HostSystem",
                "Certificates",
                "Settings",
                "WebEdge",
                .crypto,
                .hummingbird,
                .hummingbirdCore,
                .hummingbirdHTTP2,
                .httpTypes, .log,
                .serviceLifecycle,
                .unixSignals, .nioCore, .nioHTTP1, .nioHTTP2, .nioHTTPTypes, .nioHTTPTypesHTTP1,
                .nioPosix, .nioSSL, .nioTLS,
            ]
        ),

        // People.
        .target(
            name: "AppBackend",
            dependencies: [
                "Formats", "HubProtocol", "WebTokens", "OutboundHTTP", "SQLiteFiles", "PrometheusText",
                "NetworkAddresses", "FairShares", "Signals",
                "HostSystem", "Settings", "WebEdge", .crypto, .cryptoExtras, .grdb, .httpTypes, .hummingbird, .log,
                .nioCore, .nioSSL, .serviceLifecycle,
            ]
        ),

        // The app backend in the hub's process.
        .target(
            name: "MountedBackend",
            dependencies: [
                "HubProtocol", "HubServer", "AppBackend", "HostSystem", "SQLiteFiles", "Signals", "WebEdge",
                .hummingbird, .log, .nioCore, .serviceLifecycle,
            ]
        ),

        // Pages in a browser, with the app backend's users.
        .target(
            name: "PageServer",
            dependencies: [
                "Formats", "HubProtocol", "HubServer", "AppBackend", "MountedBackend", "WebPages", "OutboundHTTP",
                "SQLiteFiles", "FairShares", "NetworkAddresses", "Signals", "Certificates", "WebEdge",
                .crypto, .grdb, .httpTypes, .hummingbird, .log, .nioCore, .serviceLifecycle,
            ]
        ),

        // The publisher and the agent.
        .target(
            name: "FeedLists",
            dependencies: [
                "Formats", "Feeds", "HubProtocol", "NetworkAddresses", "OutboundHTTP", "HostSystem", "YAMLFiles",
                .crypto,
                .yams,
            ]
        ),
        .target(
            name: "FeedPublisher",
            dependencies: [
                "Formats", "FeedLists", "Feeds", "HubProtocol", "HubClient", "OutboundHTTP", "HostSystem",
                "SQLiteFiles", "Signals", "WebEdge",
                "PrometheusText", "Settings", .crypto, .grdb, .httpTypes, .hummingbird, .hummingbirdCore, .log,
                .nioCore, .nioHTTPTypes,
            ],
            // Sentence boundaries; part of every Swift toolchain, as Foundation needs it.
            linkerSettings: [.linkedLibrary("_FoundationICU")]
        ),
        .target(
            name: "SubscriberAgent",
            dependencies: [
                "Formats", "HubProtocol", "ServerSentEvents", "HubClient", "OutboundHTTP", "HostSystem", "SQLiteFiles",
                "DesktopNotifications", "NetworkAddresses", "Signals", "Settings", .grdb, .log,
            ]
        ),

        // What a start needs to know before it, and the pipeline in one process.
        .target(
            name: "StartupChecks",
            dependencies: [
                "Formats", "HostSystem", "HubProtocol", "NetworkAddresses", "Certificates", "HubServer", "AppBackend",
                "FeedLists",
                "FeedPublisher", "OutboundHTTP", "PushServices", "ReplicatedLog", "SubscriberAgent", "Settings",
                "WebPages",
                .httpTypes, .log,
            ]
        ),
        .target(
            name: "Demonstration",
            dependencies: [
                "Feeds", "HostSystem", "HubProtocol", "OutboundHTTP", "HubClient", "HubServer", "FeedLists",
                "FeedPublisher", "SubscriberAgent", "Settings", "AppBackend", "MountedBackend", "PageServer",
                .hummingbird, .log,
                .nioCore,
                .serviceLifecycle,
            ]
        ),

        // The program.
        .target(name: "CCommit", cSettings: [.define("NEWSWIRE_COMMIT", to: commit)]),
        .executableTarget(
            name: "newswire",
            dependencies: [
                "CCommit", "Formats", "Feeds", "HostSystem", "HubProtocol", "OutboundHTTP", "HubClient", "HubServer",
                "HubStore", "FeedLists", "WebPages",
                "FeedPublisher", "SubscriberAgent", "Settings", "StartupChecks", "Demonstration", "Certificates",
                "AppBackend", "MountedBackend", "NetworkAddresses", "PushEmulator", "PushServices",
                "PageServer", "SQLiteFiles", "Alarms", "ReplicatedLog", "Signals", .argumentParser, .crypto,
                .cryptoExtras,
                .hummingbird, .log,
                .nioCore, .serviceLifecycle, .unixSignals,
            ]
        ),

        // How fast feeds are read: see Benchmarks/README.md.
        .executableTarget(
            name: "feed-reading",
            dependencies: ["Feeds", "CLibXML2"],
            path: "Benchmarks/FeedReading"
        ),

        // Tests: a folder a module, scripted peers, and the built program.
        .target(name: "HubTestServer", dependencies: [.log], path: "Tests/HubTestServer"),
        .target(
            name: "StreamProbe",
            dependencies: ["HubProtocol", "HubStreams", "ServerSentEvents", .nioCore],
            path: "Tests/StreamProbe"
        ),
        .target(name: "SharedLog", dependencies: ["HubStore"], path: "Tests/SharedLog"),
        .target(
            name: "DesktopTestServer",
            dependencies: ["CSystemd", "HubTestServer"],
            path: "Tests/DesktopTestServer"
        ),
        .testTarget(name: "FormatsTests", dependencies: ["Formats"]),
        .testTarget(name: "SignalsTests", dependencies: ["Signals", "HubTestServer"]),
        .testTarget(name: "YAMLFilesTests", dependencies: ["YAMLFiles"]),
        .testTarget(name: "MarkupTests", dependencies: ["Markup"]),
        .testTarget(name: "ServerSentEventsTests", dependencies: ["ServerSentEvents"]),
        .testTarget(name: "PrometheusTextTests", dependencies: ["PrometheusText"]),
        .testTarget(name: "DomainNamesTests", dependencies: ["DomainNames"]),
        .testTarget(name: "NetworkAddressesTests", dependencies: ["NetworkAddresses"]),
        .testTarget(name: "FairSharesTests", dependencies: ["FairShares", "NetworkAddresses"]),
        .testTarget(name: "HostSystemTests", dependencies: ["HostSystem"]),
        .testTarget(
            name: "CertificatesTests",
            dependencies: ["Certificates", "HostSystem", "NetworkAddresses", .crypto, .x509, .asn1]
        ),
        .testTarget(
            name: "DesktopNotificationsTests",
            dependencies: [
                "DesktopNotifications", "HostSystem", "NetworkAddresses", "DesktopTestServer", "HubTestServer",
            ]
        ),
        .testTarget(name: "FeedsTests", dependencies: ["Feeds", "Markup", "CZlib"]),
        .testTarget(name: "HubProtocolTests", dependencies: ["Formats", "HubProtocol", "Markup"]),
        .testTarget(
            name: "WebTokensTests",
            dependencies: ["Formats", "HubProtocol", "WebTokens", .crypto, .cryptoExtras]
        ),
        .testTarget(name: "SQLiteFilesTests", dependencies: ["SQLiteFiles", .grdb]),
        .testTarget(
            name: "SchemaHistoryTests",
            dependencies: [
                "HubStore", "AppBackend", "PageServer", "FeedPublisher", "SubscriberAgent", "SQLiteFiles",
                "HubTestServer", .crypto,
                .grdb,
            ]
        ),
        .testTarget(name: "AlarmsTests", dependencies: ["Alarms", "HubProtocol"]),
        .testTarget(
            name: "WebPagesTests",
            dependencies: ["Formats", "WebPages", "HubProtocol", "Feeds", "HubTestServer", .mustache]
        ),
        .testTarget(
            name: "WebEdgeTests",
            dependencies: [
                "WebEdge", "Certificates", "HubServer", "NetworkAddresses", "HubProtocol", "HubTestServer", .httpTypes,
                .hummingbird, .nioCore, .nioPosix, .nioSSL,
            ]
        ),
        .testTarget(
            name: "OutboundHTTPTests",
            dependencies: [
                "Formats", "OutboundHTTP", "NetworkAddresses", "HubTestServer", "Certificates", .nioCore, .nioPosix,
                .nioSSL,
            ]
        ),
        .testTarget(
            name: "PushServicesTests",
            dependencies: [
                "Formats", "PushServices", "PushEmulator", "OutboundHTTP", "WebTokens", "HubProtocol",
                "NetworkAddresses",
                "HubTestServer",
                "Certificates", "HostSystem", .crypto, .cryptoExtras, .x509, .asn1,
            ]
        ),
        .testTarget(
            name: "PushEmulatorTests",
            dependencies: [
                "Formats", "PushEmulator", "PushServices", "OutboundHTTP", "HubProtocol", "HubTestServer",
                "NetworkAddresses",
                "Certificates", .crypto, .log, .nioCore, .nioPosix, .nioHPACK, .nioHTTP2, .nioSSL,
            ]
        ),
        .testTarget(
            name: "HubClientTests",
            dependencies: [
                "HubClient", "HubProtocol", "NetworkAddresses", "OutboundHTTP", "ServerSentEvents", "HubTestServer",
            ]
        ),
        .testTarget(name: "HubRoutingTests", dependencies: ["HubRouting", "HubProtocol"]),
        .testTarget(
            name: "HubStoreTests",
            dependencies: ["HubStore", "HubProtocol", "HubRouting", "SQLiteFiles", "SharedLog", .grdb]
        ),
        .testTarget(
            name: "ReplicatedLogTests",
            dependencies: [
                "ReplicatedLog", "HubStore", "HubProtocol", "HubRouting", "Certificates", "NetworkAddresses",
                "HubTestServer", .crypto, .log, .x509, .asn1,
            ]
        ),
        .testTarget(
            name: "HubStreamsTests",
            dependencies: [
                "HubStreams", "HubRouting", "HubProtocol", "ServerSentEvents", "StreamProbe", .nioCore, .nioEmbedded,
            ]
        ),
        .testTarget(
            name: "AppBackendTests",
            dependencies: [
                "Formats", "AppBackend", "MountedBackend", "HubClient", "HubProtocol", "WebTokens", "HubRouting",
                "HubServer",
                "HubStore",
                "SQLiteFiles", "PushEmulator", "SubscriberAgent",
                "PushServices", "ServerSentEvents", "NetworkAddresses", "FairShares", "Signals", "HostSystem",
                "Certificates",
                "OutboundHTTP", "Settings", "WebEdge",
                "HubTestServer", .crypto, .cryptoExtras, .grdb, .httpTypes, .hummingbird, .log, .nioCore, .nioEmbedded,
                .nioPosix, .nioSSL, .serviceLifecycle,
            ]
        ),
        .testTarget(
            name: "HubServerTests",
            dependencies: [
                "Formats", "Alarms", "HubServer", "HubStore", "HubRouting", "HubStreams", "HubProtocol", "PushServices",
                "PushEmulator",
                "ServerSentEvents", "Feeds", "WebPages",
                "StreamProbe", "SharedLog", "HubTestServer",
                "NetworkAddresses", "FairShares", "Signals", "HostSystem", "Certificates", "OutboundHTTP", "WebEdge",
                .crypto, .cryptoExtras, .grdb, .httpTypes,
                .hummingbirdCore, .log,
                .nioCore, .nioPosix,
                .nioEmbedded, .nioHPACK, .nioHTTP2, .nioSSL, .serviceLifecycle,
            ]
        ),
        .testTarget(
            name: "PageServerTests",
            dependencies: [
                "Formats", "Alarms", "PageServer", "WebPages", "AppBackend", "MountedBackend", "HubClient",
                "HubProtocol", "HubRouting", "HubServer", "HubStore", "SQLiteFiles", "FairShares", "Signals",
                "NetworkAddresses", "Certificates",
                "OutboundHTTP", "WebEdge", "HubTestServer", "SharedLog", .crypto, .grdb, .httpTypes, .hummingbird, .log,
            ]
        ),
        .testTarget(name: "SettingsTests", dependencies: ["Settings", "HubProtocol", "NetworkAddresses"]),
        .testTarget(
            name: "FeedListsTests",
            dependencies: ["FeedLists", "Feeds", "HubProtocol", "OutboundHTTP", "HostSystem", "HubTestServer"]
        ),
        .testTarget(
            name: "FeedPublisherTests",
            dependencies: [
                "FeedPublisher", "FeedLists", "Feeds", "HubProtocol", "HubClient", "OutboundHTTP", "HostSystem",
                "SQLiteFiles", "Signals", "WebEdge",
                "HubTestServer", .crypto, .grdb, .nioCore, .nioEmbedded, .nioHTTPTypes, .httpTypes,
            ]
        ),
        .testTarget(
            name: "SubscriberAgentTests",
            dependencies: [
                "Formats", "SubscriberAgent", "HubProtocol", "ServerSentEvents", "HubClient", "OutboundHTTP",
                "HostSystem", "SQLiteFiles",
                "DesktopNotifications", "DesktopTestServer", "HubTestServer", .grdb, .log,
            ]
        ),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "Formats", "newswire", "HostSystem", "HubClient", "HubProtocol", "DesktopTestServer", "HubTestServer",
                "OutboundHTTP", "HubServer", "FeedLists", "FeedPublisher", "SubscriberAgent", "Certificates",
                "NetworkAddresses", "PushEmulator", "AppBackend", "Settings", "StartupChecks", "WebPages",
                .argumentParser,
                .crypto, .cryptoExtras, .grdb, .log,
            ]
        ),
    ]
)

// Fuzz targets (`make fuzz`). They link with libFuzzer alone, so an ordinary build does not know them.
if Context.environment["NEWSWIRE_FUZZ"] != nil {
    package.targets.append(.target(name: "FuzzCheck", dependencies: ["CLibXML2"], path: "Fuzz/Check"))
    for (name, folder) in [
        ("xml", "XML"), ("json", "JSON"), ("dates", "Dates"), ("html", "HTML"), ("opml", "OPML"),
        ("registrations", "Registrations"), ("filters", "Filters"), ("sends", "Sends"),
        ("management", "Management"), ("authorization", "Authorization"),
        ("expressions", "Expressions"), ("templates", "Templates"), ("patches", "Patches"),
    ] {
        package.targets.append(
            .executableTarget(
                name: "fuzz-\(name)",
                dependencies: ["Formats", "Feeds", "Markup", "HubProtocol", "FuzzCheck"],
                path: "Fuzz/\(folder)"
            )
        )
    }
}

extension Target.Dependency {
    static let asn1 = product(name: "SwiftASN1", package: "swift-asn1")
    static let argumentParser = product(name: "ArgumentParser", package: "swift-argument-parser")
    static let crypto = product(name: "Crypto", package: "swift-crypto")
    static let cryptoExtras = product(name: "CryptoExtras", package: "swift-crypto")
    static let grdb = product(name: "GRDB", package: "GRDB.swift")
    static let hummingbird = product(name: "Hummingbird", package: "hummingbird")
    static let hummingbirdCore = product(name: "HummingbirdCore", package: "hummingbird")
    static let hummingbirdHTTP2 = product(name: "HummingbirdHTTP2", package: "hummingbird")
    static let httpTypes = product(name: "HTTPTypes", package: "swift-http-types")
    static let log = product(name: "Logging", package: "swift-log")
    static let mustache = product(name: "Mustache", package: "swift-mustache")
    static let nioCore = product(name: "NIOCore", package: "swift-nio")
    static let nioEmbedded = product(name: "NIOEmbedded", package: "swift-nio")
    static let nioHTTP1 = product(name: "NIOHTTP1", package: "swift-nio")
    static let nioHPACK = product(name: "NIOHPACK", package: "swift-nio-http2")
    static let nioHTTP2 = product(name: "NIOHTTP2", package: "swift-nio-http2")
    static let nioHTTPTypes = product(name: "NIOHTTPTypes", package: "swift-nio-extras")
    static let nioHTTPTypesHTTP1 = product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras")
    static let nioPosix = product(name: "NIOPosix", package: "swift-nio")
    static let nioSSL = product(name: "NIOSSL", package: "swift-nio-ssl")
    static let nioTLS = product(name: "NIOTLS", package: "swift-nio")
    static let serviceLifecycle = product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
    static let unixSignals = product(name: "UnixSignals", package: "swift-service-lifecycle")
    static let x509 = product(name: "X509", package: "swift-certificates")
    static let yams = product(name: "Yams", package: "Yams")
}

for target in package.targets where target.type != .system {
    target.swiftSettings = [
        .swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"), .enableUpcomingFeature("InternalImportsByDefault"),
        .treatAllWarnings(as: .error),
    ]
}
