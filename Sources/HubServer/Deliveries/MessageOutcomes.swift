import Foundation
import HubProtocol
import HubRouting
import HubStore
import WebPages

/// Counts of a message's targets by outcome, in the terms of the protocol's telemetry.
///
/// Only past events count: targets for which the message is pending appear in no count. Messages that an older version
/// accepted have no deliveries on platforms without a credential: there every target was abandoned.
struct MessageOutcomes: Sendable, Equatable {
    private(set) var counts: [Platform: [OutcomeName: Int]] = [:]

    init(
        _ record: MessageRecord,
        _ matched: RecipientCounts?,
        _ streams: StreamOutcomes,
        _ deliveries: [DeliveryState]
    ) throws {
        let targets = try record.targets
        for delivery in deliveries {
            for (outcome, count) in delivery.outcomes { add(count, outcome, delivery.delivery.key.platform) }
        }
        let delivered = Set(deliveries.map(\.delivery.key.platform))
        for (name, count) in matched?.platforms ?? [:] where !delivered.contains(Platform(rawValue: name)) {
            let platform = Platform(rawValue: name)
            // The outcome of a test send that a stop interrupted is unknown.
            guard platform != .stream, targets?.isTest != true else { continue }
            let isTooLarge = try Self.excess(of: record, on: platform) != nil
            add(count, isTooLarge ? .invalidNotificationSize : .abandoned, platform)
        }
        if let targets, let platform = record.format.platform {
            add(targets.handles.count - Set(targets.handles.map(\.handle)).count, .skipped, platform)
        }
        add(streams.written, .success, .stream)
        add(streams.expired, .abandoned, .stream)
        add(streams.tooLarge ?? 0, .invalidNotificationSize, .stream)
        add(streams.gone, .unknownError, .stream)
        add(targets?.unknown ?? 0, .wrongToken, .stream)
    }

    /// The maximum body size of a platform, if a native message exceeds it.
    static func excess(of record: MessageRecord, on platform: Platform) throws -> Int? {
        guard record.format.platform == platform else { return nil }
        return NotificationSize.exceeded(by: record.body, record.format, try record.headers)
    }

    private mutating func add(_ count: Int, _ outcome: OutcomeName, _ platform: Platform) {
        if count > 0 { counts[platform, default: [:]][outcome, default: 0] += count }
    }

    /// The counts by the names used in reports; `nil` if there are none.
    var named: [String: [String: Int]]? {
        guard !counts.isEmpty else { return nil }
        return counts.reduce(into: [:]) { named, platform in
            named[platform.key.rawValue] = platform.value.reduce(into: [:]) { $0[$1.key.rawValue] = $1.value }
        }
    }
}

extension StreamOutcomes {
    /// Counts the outcomes of a message at each stream that matched it and is still registered.
    init(_ outcomes: [DeviceOutcome]) {
        self.init()
        matched = outcomes.count
        for outcome in outcomes {
            switch outcome {
            case .tooLarge: tooLarge = (tooLarge ?? 0) + 1
            case .resumedPast:
                resumedPast += 1
                written += 1
            case .written: written += 1
            case .expired: expired += 1
            default: pending += 1
            }
        }
    }
}

extension MessageReport {
    /// Adds the tags, headers and targets that a message was sent with.
    mutating func describe(_ headers: ForwardedHeaders, tags: String?, _ targets: MessageTargets?) {
        self.headers = headers.isEmpty ? nil : headers.values
        self.tags = tags
        if targets?.isTest == true { isTest = true }
        if let targets, targets.isDirect { handles = targets.handleCount }
    }

    /// The largest number of characters of a text in a list.
    private static let listedText = 200

    /// Sets title and text as pages show them, unless they concern persons or are secret.
    mutating func show(_ record: MessageRecord, reserved: ReservedTagPrefixes) {
        guard record.format == .template || record.format == .stream,
            let properties = try? MessageProperties(json: record.body)
        else { return }
        guard properties[.secureID]?.isEmpty ?? true else { return withheld = .secure }
        // Targets that cannot be read may be persons' devices.
        guard case .success(let targets) = Result(catching: { try record.targets }), targets?.isDirect != true,
            PublicAudience.isPublic(tags: record.tags, reserved: reserved)
        else {
            return withheld = .personal
        }
        let shown = NewsText(properties)
        title = shown.title.isEmpty ? nil : shown.title
        text = shown.text
        if record.format == .template { self.properties = properties.texts }
    }

    /// The report with the beginning of a long text, and without properties, for a list.
    var listed: MessageReport {
        var report = self
        (report.properties, report.times) = (nil, nil)
        if let text, text.count > Self.listedText { report.text = "\(text.prefix(Self.listedText - 1))…" }
        return report
    }
}

// MARK: - Telemetry

extension NotificationDetails {
    /// Creates telemetry; `endedAt` is the time of the last final outcome on a push service.
    init(_ report: MessageReport, _ message: AcceptedMessage, endedAt: Timestamp?) {
        self.init(report, message.logged.record)
        enqueueTime = (message.enqueuedAt ?? message.at).second
        startTime = message.at.second
        // The time at which the last stream was written is not recorded.
        let isFinished = report.state != .processing && report.state != .enqueued
        if isFinished, report.matched?[Platform.stream.rawValue] == nil { endTime = endedAt?.second ?? startTime }
        if report.matched?.isEmpty == false { targetPlatforms = Self.platforms(report) }
    }

    init(_ report: MessageReport, _ message: ScheduledMessage) {
        self.init(report, message.record)
        enqueueTime = message.scheduledAt.second
        startTime = message.canceledAt == nil ? message.dueAt.second : nil
        endTime = message.canceledAt?.second
    }

    private init(_ report: MessageReport, _ record: MessageRecord) {
        self.init(id: report.id, state: report.state)
        body = String(decoding: record.body, as: UTF8.self)
        tags = record.tags
        targetPlatforms = [record.format.rawValue]
        for (name, counts) in report.outcomes ?? [:] {
            let platform = Platform(rawValue: name)
            // Java's SDK fails at counts that it does not know, and .NET's loses those after them: only a client that
            // sends to Xiaomi knows these.
            guard platform != .xiaomi || record.format == .xiaomi else { continue }
            outcomes[platform] = counts.reduce(into: [:]) {
                $0[OutcomeName(rawValue: $1.key)] = $1.value
            }
        }
    }

    /// The format of a native message; for a template message, each platform that it matched: `appletemplate`.
    private static func platforms(_ report: MessageReport) -> [String] {
        if let format = report.format { return [format.rawValue] }
        return (report.matched ?? [:]).keys.map { "\(MessageFormat(of: Platform(rawValue: $0)))template" }.sorted()
    }
}

extension Timestamp {
    /// The time without fractions of a second, as telemetry shows it.
    fileprivate var second: Date { Date(timeIntervalSince1970: Double(seconds)) }
}
