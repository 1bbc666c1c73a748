package import Alarms
package import Certificates
package import FairShares
package import Foundation
package import HubProtocol
package import HubStreams
package import NetworkAddresses
package import PushServices
package import Settings

/// The configuration of a hub server; every value is decided before the start.
package struct HubConfiguration: Sendable {
    /// The SQLite file.
    package var databasePath: String
    /// The file whose number is incremented with the database's, so that a copy put back by hand is noticed.
    ///
    /// Its name does not begin with the database's: copying `hub.sqlite*` must not include it.
    package var generationPath: String
    /// The file with the key that encrypts credentials; it is created if necessary.
    ///
    /// Without it, a copy of the database does not disclose credentials, and a hub cannot use them.
    package var secretsPath: String
    /// The folder for the files of jobs: jobs read and write no files outside it.
    package var jobsFolder: String
    /// An address of this machine.
    package var host: String
    /// 0 means any free port.
    package var port: Int
    /// The source of the TLS certificate; `nil` for plain HTTP only.
    package var certificate: CertificateSource?
    /// True if plain HTTP is accepted from other machines although the hub serves TLS.
    package var takesPlainHTTP: Bool
    /// The address at which clients reach the hub, for replies to requests that do not name it themselves.
    package var publicAddress = PublicAddress.own(.name("localhost"))
    /// The configured names of the hub; with some, addresses in replies have no other host that a client has invented.
    package var hostNames: [HostName]
    /// Proxies whose `X-Forwarded-Host`, `-Port` and `-Proto` are trusted.
    package var trustedProxies: [AddressBlock]
    /// Origins of web apps that may use the hub from browsers.
    package var corsOrigins: [WebOrigin]
    /// The name of the first hub of a new file; programs on this machine find its connection strings.
    package var hubName: HubName
    /// True if a new file gets the hub ``hubName``; otherwise it gets only the hubs of ``provisions``.
    package var makesFirstHub = true
    /// Hubs and rules that are created or updated at the start.
    package var provisions = HubProvisions()
    /// Time for which a message stays pending.
    package var timeToLive: Duration
    /// Maximum size of messages in the log in bytes, with tags, headers and targets; above it unexpired ones are
    /// dropped.
    package var maximumLogBytes: Int64
    /// Maximum size of registry changes in bytes: the former choices of installations, for disconnected agents.
    package var maximumChangeBytes: Int64
    /// Time for which an idempotency key is remembered.
    package var keyLifetime = Duration.seconds(7 * 86_400)
    /// Maximum number of tags of a registration, or of an installation together with one template.
    package var maximumTags: Int
    /// Limits of tag expressions in sends.
    package var expressionLimits: TagExpression.Limits
    /// Limits of what holders of Listen may store.
    package var listenQuota = ListenQuota()
    /// Prefixes of tags that can be set and removed only with Manage.
    package var reservedTags: ReservedTagPrefixes
    /// Maximum duration of a stop.
    package var drain: Duration
    /// Number of threads that serve connections.
    package var eventLoops = 2
    /// Limits of the memory for streams that lag.
    package var streamLimits = StreamLimits()
    /// Time limits and maximum numbers of connections.
    package var connectionLimits = ConnectionLimits()
    /// The groups by which clients share these places.
    package var grouping = ClientGrouping.standard
    /// Limits of the streams that a rule may have from one address.
    package var streamLimit = StreamLimit()
    /// Limits of the changes that a rule may make from one address.
    package var writeLimit = WriteLimit()
    /// True if messages in the format of the retired GCM, and to its registrations, are sent through FCM v1.
    package var sendsGcmThroughFcm: Bool
    /// The contact address that browsers' push services may use, `mailto:` or `https:` (RFC 8292 §2.1).
    package var pushContact: String?
    /// Emulates the push services, for trying out an app; `nil` to use the real ones.
    package var emulator: (any EmulatedInboxes)?
    /// Makes the clients of push services.
    package var pushServices: any PushServiceMaker = PushServiceDirectory()
    /// Maximum number of pages of the SQLite file, for tests of a full disk.
    package var maximumPages: Int?
    /// The readers of pages and feeds without an account; `nil` for invited readers, and for this machine if the hub
    /// serves no other.
    package var pages: PageAccess?
    /// The WebSub hub named in feeds.
    package var webSubHub: String?
    /// The tag that alarms are sent to; `nil` to show and log them only.
    package var alarmTag: Tag?
    package var alarmRules = AlarmRules()
    /// Agents that should be connected, once they have registered for the first time.
    package var alarmAgents: [InstallationID]
    /// The program's version, for `/metrics`.
    package var version: String?
    /// Called with a text for the operator, about twice a second, while a start waits for other nodes.
    package var onWaiting: @Sendable (String) -> Void = { _ in }
    /// Called at the start of a hub that shares its log, before anything uses the tables of app backend and pages.
    package var onTables: @Sendable (StartTables) async throws -> Void = { _ in }
    /// True if each stage of a change runs twice and the first run is rolled back: tests show that stages can be
    /// repeated.
    var rehearsesStages = false
    /// Called when something has begun to wait for the writer, and when the writer has applied a batch.
    ///
    /// Tests look then, instead of again and again.
    var onProgress: @Sendable () -> Void = {}
    /// Time between two checks of the lease.
    var leaseInterval = LeaseKeeper.interval
    /// Time between two reports to the other nodes.
    var presenceInterval = LogFollowing.interval
    /// Maximum age of a `/metrics` page.
    var metricsInterval = Duration.seconds(1)
    /// The wall clock.
    package var now: @Sendable () -> Date = { Date() }
    /// A clock that never jumps.
    var monotonic: @Sendable () -> Duration = { Housekeeping.monotonic }

    /// Creates a configuration whose other values are those of settings, or defaults.
    package init(databasePath: String, hubName: HubName, settings: Settings = .defaults) {
        self.databasePath = databasePath
        let folder = URL(filePath: databasePath).deletingLastPathComponent().path
        generationPath = GenerationFile.path(beside: databasePath)
        secretsPath = folder + "/secrets.key"
        jobsFolder = folder + "/jobs"
        self.hubName = hubName
        host = settings.value(HubSettings.listen)
        port = settings.value(HubSettings.port)
        takesPlainHTTP = settings.value(HubSettings.insecureListen)
        hostNames = settings.value(HubSettings.hostNames) ?? []
        trustedProxies = settings.value(HubSettings.trustedProxies) ?? []
        corsOrigins = settings.value(HubSettings.corsOrigins) ?? []
        timeToLive = settings.value(HubSettings.timeToLive)
        maximumLogBytes = settings.value(HubSettings.logSize)
        maximumChangeBytes = settings.value(HubSettings.changeSize)
        maximumTags = settings.value(HubSettings.maximumTags)
        expressionLimits = TagExpression.Limits(
            tags: settings.value(HubSettings.maximumExpressionTags),
            alternatives: settings.value(HubSettings.maximumAlternatives)
        )
        reservedTags = settings.value(HubSettings.reservedTagPrefixes)
        streamLimit.open = settings.value(HubSettings.streamsPerAddress)
        streamLimit.openingsPerSecond = settings.value(HubSettings.streamOpenings)
        listenQuota.count = settings.value(HubSettings.listenRegistrations)
        listenQuota.bytes = Int(settings.value(HubSettings.listenSize))
        writeLimit.perSecond = settings.value(HubSettings.listenWrites)
        sendsGcmThroughFcm = settings.value(HubSettings.gcmThroughFcm)
        pushContact = settings.value(HubSettings.pushContact)
        pages = settings.value(HubSettings.pages)
        webSubHub = settings.value(HubSettings.webSubHub)
        alarmTag = settings.value(HubSettings.alarmTag)
        for silence in settings.value(HubSettings.alarmSilences) ?? [] {
            alarmRules.silences[silence.category] = silence.limit
        }
        alarmAgents = settings.value(HubSettings.alarmAgents) ?? []
        drain = settings.value(HubSettings.drain)
    }

    var timestamp: Timestamp { Timestamp(now()) }
}
