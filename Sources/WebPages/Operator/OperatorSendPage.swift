/// The form that sends a message, and the preview that the operator confirms.
package struct OperatorSendPage: WebPage {
    /// The form's fields as they were typed.
    package struct Fields: Sendable, Equatable {
        /// The audience: `tags`, `everybody`, or `category:NAME`.
        package var audience: String
        package var tags: String
        package var title: String
        package var text: String
        package var link: String
        package var time: String

        package init(
            audience: String,
            tags: String = "",
            title: String = "",
            text: String = "",
            link: String = "",
            time: String = ""
        ) {
            self.audience = audience
            self.tags = tags
            self.title = title
            self.text = text
            self.link = link
            self.time = time
        }
    }

    package struct Audience: Sendable {
        let value: String
        let label: String
        let isSelected: Bool

        package init(value: String, label: String, isSelected: Bool) {
            self.value = value
            self.label = label
            self.isSelected = isSelected
        }
    }

    /// The values that the confirmed form sends.
    package struct Preview: Sendable {
        /// The idempotency key, which makes a repeat harmless.
        let key: String
        let audience: String
        let recipients: String
        let hasRecipients: Bool
        let time: String
        let title: String
        let text: String?
        let link: String?
        let button: String

        package init(
            key: String,
            audience: String,
            recipients: String,
            hasRecipients: Bool,
            time: String?,
            shown: NewsText
        ) {
            self.key = key
            self.audience = audience
            self.recipients = recipients
            self.hasRecipients = hasRecipients
            self.time = time ?? "at once"
            title = shown.title
            text = shown.text
            link = shown.link
            button = time == nil ? "Send now" : "Schedule"
        }
    }

    package let template = "operator-send"
    package let frame: PageFrame
    package var title: String { "Send – \(frame.name)" }
    let nav: OperatorNav
    /// The address of the form, `/-/{hub}/admin/send`.
    let action: String
    let fields: Fields
    let audiences: [Audience]
    package var preview: Preview?
    package var refusal: String?

    package init(_ nav: OperatorNav, frame: PageFrame, action: String, fields: Fields, audiences: [Audience]) {
        self.nav = nav
        self.frame = frame
        self.action = action
        self.fields = fields
        self.audiences = audiences
    }
}
