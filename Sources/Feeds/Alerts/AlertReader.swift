internal import FoundationEssentials
internal import Markup

/// Reads CAP alerts: whole documents, whole alerts inside entries, and the fields that an index repeats in its entries.
struct AlertReader {
    /// The largest number of information blocks kept from one alert; each is for a language or an area.
    private static let maximumInfo = 50
    private static let maximumAreas = 500

    /// Element names; an entry with an alert has at least one of them.
    static let names = XMLNameTable(FeedNames.vocabulary, names: FeedNames.alert)

    private let context: FeedContext
    private let prefix: String

    init(_ context: FeedContext, root: XMLElement) {
        self.context = context
        prefix = root.name.hasPrefix("cap:") ? "cap:" : ""
    }

    static func accepts(_ root: XMLElement) -> Bool { root.name == "cap:alert" || root.name == "alert" }

    /// Reads a document that is a single alert.
    static func feed(root: XMLElement, context: FeedContext) -> Feed {
        let alert = AlertReader(context, root: root).alert(root)
        var feed = Feed(format: FeedFormat(.cap, version: alert.version))
        let info = alert.info.first
        feed.title = info?.senderName ?? alert.source ?? alert.sender
        feed.language = info?.language
        if root.isClosed { feed.entries = [entry(alert)] }
        return feed
    }

    /// The alert in an entry: the `alert` element, in its content or directly, or else the alert fields of the entry.
    static func alert(in entry: XMLElement, content: XMLElement?, context: FeedContext) -> Alert? {
        guard context.hasAlerts else { return nil }
        if let element = entry.first("cap:alert") ?? content?.first("cap:alert") {
            return AlertReader(context, root: element).alert(element)
        }
        guard let first = entry.children.first(where: { $0.name.hasPrefix("cap:") }) else { return nil }
        let reader = AlertReader(context, root: first)
        var alert = reader.envelope(entry)
        alert.version = version(of: first)
        alert.info = [reader.info(entry)]
        return alert
    }

    private static func entry(_ alert: Alert) -> Entry {
        var entry = Entry()
        let info = alert.info.first
        entry.id = alert.reference ?? alert.identifier
        entry.title = info?.headline ?? info?.event
        entry.summaryTexts = [info?.description, info?.instruction, alert.note].compactMap { text in
            text.map { FeedText($0, .plain) }
        }
        entry.link = info?.web
        entry.published = alert.sent
        entry.categories = FeedText.distinct((info?.categories ?? []) + [info?.event])
        entry.byline = Person(name: info?.senderName, mail: nil)
        entry.alert = alert
        return entry
    }

    // MARK: Parts

    private func alert(_ element: XMLElement) -> Alert {
        var alert = envelope(element)
        alert.version = Self.version(of: element)
        alert.info = element.all(prefix + "info").prefix(Self.maximumInfo).map(info)
        return alert
    }

    private func envelope(_ element: XMLElement) -> Alert {
        var alert = Alert()
        alert.identifier = word(element, "identifier")
        alert.sender = word(element, "sender")
        alert.sentText = word(element, "sent")
        alert.sent = alert.sentText.flatMap(FeedDate.parse)
        alert.status = word(element, "status")
        alert.messageType = word(element, "msgtype")
        alert.scope = word(element, "scope")
        alert.source = text(element, "source")
        alert.note = text(element, "note")
        alert.references = word(element, "references")
        return alert
    }

    private func info(_ element: XMLElement) -> Alert.Info {
        var info = Alert.Info()
        info.language = word(element, "language")
        info.categories = element.all(prefix + "category").prefix(FeedText.maximumCategories).compactMap {
            FeedText.trimmed($0.text)
        }
        info.event = text(element, "event")
        info.urgency = word(element, "urgency")
        info.severity = word(element, "severity")
        info.certainty = word(element, "certainty")
        info.effective = date(element, "effective")
        info.onset = date(element, "onset")
        info.expires = date(element, "expires")
        info.senderName = text(element, "sendername")
        info.headline = text(element, "headline")
        info.description = text(element, "description")
        info.instruction = text(element, "instruction")
        info.web = element.first(prefix + "web").flatMap { context.link($0.text, at: $0) }
        // An index has the areas' names without the `area` elements.
        let names =
            element.all(prefix + "area").compactMap { $0.first(prefix + "areadesc") }
            + element.all(prefix + "areadesc")
        info.areas = names.prefix(Self.maximumAreas).compactMap {
            FeedText($0.text, .plain).plain(limit: FeedText.summaryLimit)
        }
        return info
    }

    private static func version(of element: XMLElement) -> String? {
        element.namespace.flatMap { $0.split { $0 == ":" || $0 == "/" }.last }.map(String.init)
    }

    private func word(_ element: XMLElement, _ name: String) -> String? {
        FeedText.trimmed(element.first(prefix + name)?.text)
    }

    private func text(_ element: XMLElement, _ name: String) -> String? {
        element.first(prefix + name).flatMap { FeedText($0.text, .plain).plain(limit: FeedText.summaryLimit) }
    }

    private func date(_ element: XMLElement, _ name: String) -> Date? {
        element.first(prefix + name).flatMap { FeedDate.parse($0.text) }
    }
}
