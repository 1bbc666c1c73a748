package import FoundationEssentials
import Markup

/// The telemetry of one message: the answer of `GET /{hub}/messages/{id}`.
///
/// Source: protocol §5.6.
package struct NotificationDetails: Sendable, Equatable {
    package let id: MessageID
    /// The message's address, which one SDK parses as a URI.
    package var location: String?
    package let state: MessageState
    package var enqueueTime: Date?
    package var startTime: Date?
    package var endTime: Date?
    /// As it was sent.
    package var body: String?
    /// The tag expression as it was sent.
    package var tags: String?
    /// Formats such as `apple`, or `appletemplate` for templates of that platform.
    package var targetPlatforms: [String] = []
    /// Number of targets on each platform by outcome.
    package var outcomes: [Platform: [OutcomeName: Int]] = [:]
    /// The address of an error report.
    package var errorDetailsURI: String?

    package init(id: MessageID, state: MessageState) {
        self.id = id
        self.state = state
    }
}

extension NotificationDetails {
    /// The platforms whose counts are before `PnsErrorDetailsUri`, and those after it: .NET loses an element in another
    /// place.
    private static let early = counts([.apns, .mpns, .wns, .gcm, .adm])
    private static let late = counts(
        Platform.known.filter { platform in platform != .stream && !early.contains { $0.platform == platform } }
    )

    private static func counts(_ platforms: [Platform]) -> [(element: String, platform: Platform)] {
        platforms.compactMap { PlatformDefinition.byPlatform[$0] }.map { ($0.stem + "OutcomeCounts", $0.platform) }
    }

    /// Our own element is last, because .NET stops reading at an unknown element.
    ///
    /// Its counts are in attributes, because Java fails at an `Outcome` in an unknown element.
    private static let streamCounts = (element: "StreamOutcomeCounts", each: "Stream")

    /// The document, its elements in the order that clients rely on; empty ones are left out.
    package var xml: String {
        XMLDocumentText.document("NotificationDetails") { document in
            document.add("NotificationId", id.text)
            document.add("Location", location)
            document.add("State", state.rawValue)
            document.add("EnqueueTime", enqueueTime.map(ISODateTime.format))
            document.add("StartTime", startTime.map(ISODateTime.format))
            document.add("EndTime", endTime.map(ISODateTime.format))
            document.add("NotificationBody", body)
            document.add("Tags", tags)
            document.add("TargetPlatforms", targetPlatforms.joined(separator: ","))
            for (element, platform) in Self.early { add(outcomes[platform], as: element, to: &document) }
            document.add("PnsErrorDetailsUri", errorDetailsURI)
            for (element, platform) in Self.late { add(outcomes[platform], as: element, to: &document) }
            let streams = Self.shown(outcomes[.stream])
            guard !streams.isEmpty else { return }
            document.add(Self.streamCounts.element) { list in
                for (name, count) in streams {
                    list.add(
                        Self.streamCounts.each,
                        attributes: [("outcome", name.rawValue), ("count", String(count))]
                    )
                }
            }
        }
    }

    private static func shown(_ counts: [OutcomeName: Int]?) -> [(key: OutcomeName, value: Int)] {
        (counts ?? [:]).filter { $0.value > 0 }.sorted { $0.key.rawValue < $1.key.rawValue }
    }

    /// Maximum number of targets of one outcome: larger counts are ignored, so that sums cannot overflow.
    private static let maximumCount = 1_000_000_000_000

    private func add(_ counts: [OutcomeName: Int]?, as element: String, to document: inout XMLDocumentText) {
        let counts = Self.shown(counts)
        guard !counts.isEmpty else { return }
        document.add(element) { list in
            for (name, count) in counts {
                list.add("Outcome") { outcome in
                    outcome.add("Name", name.rawValue)
                    outcome.add("Count", String(count))
                }
            }
        }
    }
}

extension NotificationDetails {
    /// Reads a hub's answer, ours or the service's; `nil` for text that is not telemetry.
    package init?(xml text: String) {
        guard let root = TelemetryXML.root(of: text, named: "NotificationDetails"),
            let id = root.first("NotificationId").flatMap({ try? MessageID($0.text) }),
            let state = root.first("State")?.text
        else { return nil }
        self.init(id: id, state: MessageState(rawValue: state))
        func date(_ name: String) -> Date? { root.first(name).flatMap { ISODateTime.parse($0.text) } }
        location = root.first("Location")?.text
        (enqueueTime, startTime, endTime) = (date("EnqueueTime"), date("StartTime"), date("EndTime"))
        body = root.first("NotificationBody")?.text
        tags = root.first("Tags")?.text
        targetPlatforms = (root.first("TargetPlatforms")?.text ?? "").split(separator: ",").map { String($0.trimmed) }
        errorDetailsURI = root.first("PnsErrorDetailsUri")?.text
        // The service's newer name for gcm.
        for (element, platform) in Self.early + Self.late + [("FcmOutcomeCounts", .gcm)] {
            for outcome in root.first(element)?.all("Outcome") ?? [] {
                note(outcome.first("Name")?.text, outcome.first("Count")?.text, platform)
            }
        }
        for stream in root.first(Self.streamCounts.element)?.all(Self.streamCounts.each) ?? [] {
            note(stream.attribute("outcome"), stream.attribute("count"), .stream)
        }
    }

    private mutating func note(_ name: String?, _ count: String?, _ platform: Platform) {
        guard let name, let count = count.flatMap({ Int($0) }), (0...Self.maximumCount).contains(count) else { return }
        outcomes[platform, default: [:]][OutcomeName(rawValue: name), default: 0] += count
    }
}
