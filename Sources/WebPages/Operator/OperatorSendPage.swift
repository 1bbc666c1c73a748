import HubProtocol

/// The desk: the form that sends, corrects and withdraws messages, and the preview that the operator confirms.
package struct OperatorSendPage: WebPage {
    /// The form's fields as they were typed.
    package struct Fields: Sendable, Equatable, Codable {
        /// The categories that get the message.
        package var categories: [String] = []
        /// Other recipients: empty for none, else ``everybody`` or ``matching``.
        package var audience = ""
        package var tags = ""
        package var title = ""
        package var text = ""
        package var link = ""
        /// A ``MessageUrgency``; empty for a normal one.
        package var urgency = ""
        package var time = ""
        /// The message that this one corrects or withdraws; empty for a new one.
        package var original = ""
        /// `correction` or `withdrawn`, with ``original``.
        package var status = ""
        /// The draft that this form edits; empty for none.
        package var draft = ""
        /// The key of the preview that this form has changed; empty for none.
        package var former = ""

        package init() {}

        /// Reads stored fields, also of a version that had fewer.
        package init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            func text(_ key: CodingKeys) throws -> String { try values.decodeIfPresent(String.self, forKey: key) ?? "" }
            categories = try values.decodeIfPresent([String].self, forKey: .categories) ?? []
            (audience, tags, title) = (try text(.audience), try text(.tags), try text(.title))
            (self.text, link, urgency) = (try text(.text), try text(.link), try text(.urgency))
            (time, original, status) = (try text(.time), try text(.original), try text(.status))
            (draft, former) = (try text(.draft), try text(.former))
        }
    }

    /// The whole hub.
    package static let everybody = "everybody"
    /// The devices that match a tag expression.
    package static let matching = "tags"

    package struct Category: Sendable {
        let name: String
        let isChosen: Bool
        /// The number of its devices and agents; `nil` if it was not counted.
        let listeners: String?

        package init(name: String, isChosen: Bool, listeners: String?) {
            (self.name, self.isChosen, self.listeners) = (name, isChosen, listeners)
        }
    }

    /// The values that the confirmed form sends.
    package struct Preview: Sendable {
        /// The number of characters of a title, and of a title and text, that a phone's lock screen shows.
        private static let phone = (title: 65, text: 180)

        /// The idempotency key, which makes a repeat harmless.
        let key: String
        let facts: [ReportFact]
        /// Reasons to look again before sending.
        let warnings: [String]
        let hasWarnings: Bool
        let view: MessageView
        /// The notification as a phone shows it: what fits on a lock screen.
        let phoneTitle: String
        let phoneText: String
        /// The message as each platform gets it, through the template that is used most.
        let rendered: [ReportFact]
        let hasRendered: Bool
        /// The address of the form.
        let action: String
        /// `nil` for somebody who may not confirm.
        let button: String?

        package init(
            key: String,
            facts: [ReportFact?],
            warnings: [String],
            shown: NewsText,
            view: MessageView,
            rendered: [ReportFact] = [],
            action: String,
            button: String?
        ) {
            self.key = key
            self.facts = facts.compactMap(\.self)
            let isLong = shown.title.count > Self.phone.title
            self.warnings =
                warnings
                + (isLong
                    ? ["The title has \(shown.title.count) characters; phones show about \(Self.phone.title) of them."]
                    : [])
            hasWarnings = !self.warnings.isEmpty
            self.view = view
            phoneTitle = Self.clip(shown.title, Self.phone.title)
            phoneText = Self.clip(shown.text ?? "", Self.phone.text)
            (self.rendered, hasRendered) = (rendered, !rendered.isEmpty)
            self.action = action
            self.button = button
        }

        private static func clip(_ text: String, _ limit: Int) -> String {
            text.count > limit ? "\(text.prefix(limit - 1))…" : text
        }
    }

    package let template = "operator-send"
    package let frame: PageFrame
    package var title: String { "\(heading) – \(frame.name)" }
    let nav: OperatorNav
    let script = WebAsset.desk.path
    package var heading = "Send a message"
    /// The address of the form, `/-/{hub}/admin/send`.
    let action: String
    let fields: Fields
    let categories: [Category]
    let hasCategories: Bool
    let audiences: [OperatorChoice]
    let urgencies: [OperatorChoice]
    /// True if recipients other than categories are chosen.
    let hasOther: Bool
    /// True if the recipients can be chosen: those of a correction are the original's.
    let isNew: Bool
    /// True if the texts can be written: a withdrawal has those of the original.
    let hasTexts: Bool
    package var preview: Preview?
    package var refusal: String?

    package init(
        _ nav: OperatorNav,
        frame: PageFrame,
        action: String,
        fields: Fields,
        categories: [Category] = []
    ) {
        self.nav = nav
        self.frame = frame
        self.action = action
        self.fields = fields
        self.categories = categories
        hasCategories = !categories.isEmpty
        isNew = fields.original.isEmpty
        hasOther = !fields.audience.isEmpty || !fields.tags.isEmpty
        hasTexts = fields.status != MessageStatus.withdrawn.rawValue
        audiences = [
            ("", "The chosen categories"), (Self.everybody, "Everybody"),
            (Self.matching, "Devices that match a tag expression"),
        ].map { OperatorChoice(value: $0, label: $1, isSelected: $0 == fields.audience) }
        let others = MessageUrgency.allCases.filter { $0 != .normal || !fields.original.isEmpty }
        urgencies =
            [OperatorChoice(value: "", label: isNew ? "Normal" : "As before", isSelected: fields.urgency.isEmpty)]
            + others.map {
                OperatorChoice(value: $0.rawValue, label: $0.label, isSelected: $0.rawValue == fields.urgency)
            }
    }
}

extension MessageUrgency {
    fileprivate var label: String {
        switch self {
        case .low: "Low"
        case .normal: "Normal"
        case .critical: "Urgent: it stands out, and stays on the screen"
        }
    }
}
