package import Alarms
package import Certificates
package import Foundation
package import HubProtocol
package import HubStreams
package import NetworkAddresses
package import PushEmulator
package import PushServices
package import WebPages

/// How a hub server runs; every value is decided before the start.
package struct HubConfiguration: Sendable {
    /// The SQLite file.
    package var databasePath: String
    /// The file that counts along with the database, by which a copy put back by hand is noticed.
    ///
    /// Its name does not begin with the database's: who copies `hub.sqlite*` must not copy it along.
    package var generationPath: String
    /// The file with the key that credentials are encrypted with; it is made if need be.
    ///
    /// A copy of the database is of no use to a thief without it, and of no use to push services.
    package var secretsPath: String
    /// The folder for the files of jobs: nothing outside of it is read or written for them.
    package var jobsFolder: String
    /// An address of this machine.
    package var host = "127.0.0.1"
    /// 0 takes any free port.
    package var port = 8787
    /// What TLS is spoken with; `nil` for plain HTTP alone.
    package var certificate: CertificateSource?
    /// Whether plain HTTP is taken from other machines although TLS is spoken.
    package var takesPlainHTTP = false
    /// What the hub is reached by, for addresses in replies to requests that do not say it themselves.
    package var publicName = HostName.name("localhost")
    /// Proxies whose `X-Forwarded-Host`, `-Port` and `-Proto` are believed.
    package var trustedProxies: [AddressBlock] = []
    /// The hub that a new file is given; its connection strings are the ones that programs of this machine find.
    package var hubName: HubName
    /// Whether a new file is given ``hubName``, and not only what ``provisions`` ask for.
    package var makesFirstHub = true
    /// Hubs and rules that are made sure of at the start.
    package var provisions = HubProvisions()
    /// How long a message is owed.
    package var timeToLive = Duration.seconds(72 * 3600)
    /// Bytes of messages that the log may hold, with tags, headers and targets, before some are dropped unexpired.
    package var maximumLogBytes: Int64 = 1 << 30
    /// Bytes that registry changes may take: what installations wanted before, for those that are away.
    package var maximumChangeBytes: Int64 = 256 << 20
    /// How long an idempotency key is remembered.
    package var keyLifetime = Duration.seconds(7 * 86_400)
    /// Tags that a registration may have, or an installation together with one template.
    package var maximumTags = Installation.maximumTags
    /// Of the tag expressions of sends.
    package var expressionLimits = TagExpression.Limits.standard
    /// What holders of Listen may store.
    package var listenQuota = ListenQuota()
    /// Tags with these prefixes may be set and removed with Manage only.
    package var reservedTags = ReservedTagPrefixes.standard
    /// How long a stop may take.
    package var drain = Duration.seconds(10)
    /// Threads that serve connections.
    package var eventLoops = 2
    /// What is kept in memory for streams that lag.
    package var streamLimits = StreamLimits()
    /// What connections may do.
    package var connectionLimits = ConnectionLimits()
    /// What streams a rule may have from one address.
    package var streamLimit = StreamLimit()
    /// Changes of installations and registrations of one rule and address.
    package var writeLimit = WriteLimit()
    /// Messages in the format of the retired GCM, and its registrations, go through FCM v1.
    package var sendsGcmThroughFcm = false
    /// Whom browsers' push services may write to about the hub's messages: a `mailto:` or `https:` address (RFC 8292 §2.1).
    package var pushContact: String?
    /// Stands for the push services, to try an app; `nil` where they are real.
    package var emulator: PushEmulator?
    /// Speaks to push services.
    package var pushServices: any PushServiceMaker = PushServiceDirectory()
    /// The most pages of the SQLite file, for tests of a full disk.
    package var maximumPages: Int?
    /// Who may read pages and feeds without an account; `nil` for those who were invited, and for this machine where the
    /// hub serves no other.
    package var pages: PageAccess?
    /// The WebSub hub that feeds name.
    package var webSubHub: String?
    /// The tag that alarms are sent to; `nil` to show and log them only.
    package var alarmTag: Tag?
    package var alarmRules = AlarmRules()
    /// Agents that should be connected, from when they are first registered.
    package var alarmAgents: [InstallationID] = []
    /// Of the program, for `/metrics`.
    package var version: String?
    /// Runs each stage of a change twice, the first time in vain: tests show so that stages can be repeated.
    var rehearsesStages = false
    /// How old a page of `/metrics` may be.
    var metricsInterval = Duration.seconds(1)
    /// The wall clock.
    package var now: @Sendable () -> Date = { Date() }
    /// A clock that never jumps.
    var monotonic: @Sendable () -> Duration = { Housekeeping.monotonic }

    package init(databasePath: String, hubName: HubName) {
        self.databasePath = databasePath
        let folder = URL(filePath: databasePath).deletingLastPathComponent().path
        generationPath = folder + "/generation"
        secretsPath = folder + "/secrets.key"
        jobsFolder = folder + "/jobs"
        self.hubName = hubName
    }

    var timestamp: Timestamp { Timestamp(now()) }
}
