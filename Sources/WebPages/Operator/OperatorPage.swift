package import HubProtocol
import Mustache

/// A page of the operator's view: a heading, an optional search, and sections with facts, lines and tables.
///
/// The template reads stored properties only.
package struct OperatorPage: WebPage {
    package let template = "operator"
    let script = WebAsset.operator.path
    package let frame: PageFrame
    package var title: String { "\(heading) – \(frame.name)" }
    let nav: OperatorNav
    let heading: String
    package var search: OperatorForm?
    /// True for a search that matters less than the sections.
    package var isSearchLast = false
    package var sections: [OperatorSection] = []
    /// The link to the next part of the list.
    package var more: OperatorLink?

    package init(_ nav: OperatorNav, frame: PageFrame, heading: String) {
        self.nav = nav
        self.frame = frame
        self.heading = heading
    }
}

/// The links at the top of all pages of the operator's view.
package struct OperatorNav: Sendable {
    package enum Place: String, CaseIterable, Sendable {
        case overview = ""
        case messages
        case devices
        case categories
        case publishers
        case alarms
        case send
        case drafts
        case scheduled
        case audit

        var label: String {
            switch self {
            case .overview: "Overview"
            case .publishers: "Feeds"
            case .messages, .devices, .categories, .alarms, .send, .drafts, .scheduled, .audit:
                rawValue.prefix(1).uppercased() + rawValue.dropFirst()
            }
        }
    }

    struct Item: Sendable {
        let href: String
        let label: String
        let isCurrent: Bool
    }

    /// `/-/{hub}/admin/`.
    let root: String
    /// The readers' page, `/-/{hub}/`.
    let home: String
    let items: [Item]
    /// The address that ends an operator's session; `nil` for an account.
    let leave: String?

    /// - Parameters:
    ///   - home: `/-/{hub}/`.
    ///   - root: `/-/{hub}/admin/`.
    ///   - place: The page.
    ///   - isOfDesk: True for an account that sees the desk only.
    package init(home: String, root: String, at place: Place?, isOfDesk: Bool = false) {
        (self.home, self.root) = (home, root)
        let places: [Place] = isOfDesk ? [.send, .drafts, .scheduled] : Place.allCases
        items = places.map { Item(href: root + $0.rawValue, label: $0.label, isCurrent: $0 == place) }
        leave = isOfDesk ? nil : "\(root)leave"
    }
}

/// A form: a search, or one that changes something.
package struct OperatorForm: Sendable {
    package struct Field: Sendable {
        let label: String
        let name: String
        let value: String
        let type: String
        /// For a field that offers a choice.
        let choices: [OperatorChoice]
        let hasChoices: Bool

        /// Creates a field for a text, or for another type of HTML.
        package init(_ label: String, name: String, value: String, type: String = "text") {
            (self.label, self.name, self.value, self.type) = (label, name, value, type)
            (choices, hasChoices) = ([], false)
        }

        package init(_ label: String, name: String, choices: [(value: String, label: String)], selected: String) {
            (self.label, self.name, value, type, hasChoices) = (label, name, selected, "", true)
            self.choices = choices.map {
                OperatorChoice(value: $0.value, label: $0.label, isSelected: $0.value == selected)
            }
        }
    }

    struct Hidden: Sendable {
        let name: String
        let value: String
    }

    let action: String
    let method: String
    let isSearch: Bool
    let hidden: [Hidden]
    let fields: [Field]
    /// False for a form that is a button only.
    let hasFields: Bool
    let button: String
    let hint: String?

    /// Creates a search, whose result has an address.
    package init(search action: String, _ fields: [Field], button: String, hint: String? = nil) {
        self.init(action, "get", isSearch: true, hidden: [:], fields, button, hint)
    }

    /// Creates a form that changes something.
    package init(
        change action: String,
        hidden: KeyValuePairs<String, String>,
        _ fields: [Field] = [],
        button: String,
        hint: String? = nil
    ) {
        self.init(action, "post", isSearch: false, hidden: hidden, fields, button, hint)
    }

    private init(
        _ action: String,
        _ method: String,
        isSearch: Bool,
        hidden: KeyValuePairs<String, String>,
        _ fields: [Field],
        _ button: String,
        _ hint: String?
    ) {
        (self.action, self.method, self.isSearch) = (action, method, isSearch)
        self.hidden = hidden.map { Hidden(name: $0.key, value: $0.value) }
        (self.fields, hasFields) = (fields, !fields.isEmpty)
        (self.button, self.hint) = (button, hint)
    }
}

/// An option of a select field.
struct OperatorChoice: Sendable {
    let value: String
    let label: String
    let isSelected: Bool
}

package struct OperatorLink: Sendable {
    let href: String
    let label: String

    package init(_ label: String, href: String) {
        self.label = label
        self.href = href
    }
}

/// A part of a page, with a heading of its own.
package struct OperatorSection: Sendable {
    package let title: String
    package let facts: [ReportFact]
    let hasFacts: Bool
    /// Sentences for the reader.
    package var lines: [String] = []
    package var table: OperatorTable?
    package var link: OperatorLink?
    package var forms: [OperatorForm] = [] { didSet { hasForms = !forms.isEmpty } }
    private(set) var hasForms = false
    package var charts: [Chart] = [] { didSet { hasCharts = !charts.isEmpty } }
    private(set) var hasCharts = false
    /// Links to actions.
    package var links: [OperatorLink] = [] { didSet { hasLinks = !links.isEmpty } }
    private(set) var hasLinks = false

    package init(
        _ title: String,
        facts: [ReportFact?] = [],
        lines: [String] = [],
        table: OperatorTable? = nil,
        link: OperatorLink? = nil
    ) {
        self.title = title
        self.facts = facts.compactMap(\.self)
        hasFacts = !self.facts.isEmpty
        self.lines = lines
        self.table = table
        self.link = link
    }
}

package struct OperatorTable: Sendable {
    package struct Cell: Sendable {
        /// The longest text that stays on one line, such as a time, in characters.
        private static let shortText = 24

        let text: String
        let link: String?
        /// The address of a form with one button, labelled with the text.
        let action: String?
        /// The parts of a strip, of which the text is the description.
        let strip: [StripPart]
        let hasStrip: Bool
        /// Its classes in the style: `error` for a problem, `short` for a text on one line; `nil` for none.
        let classes: String?

        package init(_ text: String, link: String? = nil, isBad: Bool = false) {
            self.text = text
            self.link = link
            let classes = [isBad ? "error" : nil, text.count <= Self.shortText ? "short" : nil].compactMap(\.self)
            self.classes = classes.isEmpty ? nil : classes.joined(separator: " ")
            (action, strip, hasStrip) = (nil, [], false)
        }

        /// Creates a strip of polls, of which the last one was at a time.
        package init(_ polls: FeedPolls, until last: Timestamp?, _ words: ReportWords) {
            var at = last
            var parts: [StripPart] = []
            for poll in polls.all.reversed() {
                let time = at.map { "\(words.time($0)): " } ?? ""
                parts.append(StripPart(kind: "\(poll.outcome)", label: time + poll.outcome.name))
                at = at.map { $0 - .seconds(poll.minutes * 60) }
            }
            strip = parts.reversed()
            hasStrip = !strip.isEmpty
            let counts = FeedPolls.Outcome.allCases.compactMap { outcome in
                let count = polls.all.count { $0.outcome == outcome }
                return count > 0 ? "\(count) \(outcome.name)" : nil
            }
            text = counts.joined(separator: ", ")
            (link, action, classes) = (nil, nil, nil)
        }

        /// Creates a button.
        package init(button: String, action: String) {
            text = button
            self.action = action
            (link, classes, strip, hasStrip) = (nil, nil, [], false)
        }
    }

    /// One poll of a strip.
    struct StripPart: Sendable {
        let kind: String
        let label: String
    }

    struct Row: Sendable {
        let cells: [Cell]
    }

    let caption: String
    let headers: [String]
    let rows: [Row]
    let hasRows: Bool
    /// The text for a table without rows.
    let empty: String

    package init(_ caption: String, _ headers: [String], _ rows: [[Cell]], empty: String) {
        self.caption = caption
        self.headers = headers
        self.rows = rows.map(Row.init)
        hasRows = !rows.isEmpty
        self.empty = empty
    }
}

// Tables have hundreds of them: reflection would take most of a page's time.
extension OperatorTable.Row: MustacheParent {
    func child(named name: String) -> Any? { name == "cells" ? cells : nil }
}

extension OperatorTable.Cell: MustacheParent {
    package func child(named name: String) -> Any? {
        switch name {
        case "text": text
        case "link": link
        case "action": action
        case "classes": classes
        case "strip": strip
        case "hasStrip": hasStrip
        default: nil
        }
    }
}

extension OperatorTable.StripPart: MustacheParent {
    func child(named name: String) -> Any? {
        switch name {
        case "kind": kind
        case "label": label
        default: nil
        }
    }
}
