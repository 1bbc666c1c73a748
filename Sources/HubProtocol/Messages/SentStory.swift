/// A message that was sent, and that a later version of its story can replace.
package struct SentStory: Sendable, Equatable {
    /// The reason why a message cannot be replaced, as the rest of a sentence about it.
    package enum Refusal: Error, Equatable, CustomStringConvertible {
        case scheduled
        case canceled
        case withheld
        case native(MessageFormat)
        case test
        /// The hub does not report properties.
        case unknown
        case noStory

        package var description: String {
            switch self {
            case .scheduled: "has not been sent yet"
            case .canceled: "was cancelled before it was sent"
            case .withheld: "was sent to persons or devices, or is secret"
            case .native(let format): "is of format '\(format)': only messages for templates have a story"
            case .test: "was a test"
            case .unknown: "is shown without its properties by this hub"
            case .noStory: "names no story"
            }
        }
    }

    package let id: MessageID
    /// The expression for its recipients; `nil` for everybody.
    package let tags: String?
    package let story: String
    package let properties: MessageProperties

    /// Reads the hub's report on a message.
    package init(_ report: MessageReport) throws(Refusal) {
        switch (report.state, report.withheld, report.format) {
        case (.scheduled, _, _): throw .scheduled
        case (.canceled, _, _): throw .canceled
        case (_, .some, _): throw .withheld
        case (_, _, .some(let format)): throw .native(format)
        default: if report.isTest == true { throw .test }
        }
        guard let texts = report.properties else { throw .unknown }
        properties = MessageProperties(
            Dictionary(uniqueKeysWithValues: texts.map { (MessageProperty(rawValue: $0.key), $0.value) })
        )
        guard let story = properties[.story], !story.isEmpty else { throw .noStory }
        (id, tags, self.story) = (report.id, report.tags, story)
    }

    /// Properties that a later version has from its story, and that no correction can change.
    package static let fixed: [MessageProperty] = [.category, .story, .version, .status, .replaces]
    /// The properties that a later version keeps: those that say what the story is, and no texts in other languages.
    private static let kept: [MessageProperty] = [
        .category, .feed, .alsoFrom, .author, .published, .image, .link, .story,
    ]
    /// The texts, which a correction of something else keeps.
    private static let texts: [MessageProperty] = [.title, .summary, .messageParam]

    /// Returns the properties of a later version, marked as what it is.
    ///
    /// A withdrawal has the texts of the message, in each of its languages. A correction replaces title and text
    /// together, in the main language.
    ///
    /// - Parameters:
    ///   - changes: The properties of a correction that differ; empty for a withdrawal.
    ///   - status: `correction` or `withdrawn`.
    ///   - key: The key of the send: versions that are sent with one key say the same.
    /// - Returns: The properties; `nil` for a correction without a text in the main language.
    package func replaced(by changes: MessageProperties, _ status: MessageStatus, key: String) -> MessageProperties? {
        var values: [MessageProperty: String] = [:]
        for name in Self.kept { values[name] = properties[name] }
        if status == .correction {
            values[.urgency] = properties[.urgency]
            if changes[.title] == nil { for name in Self.texts { values[name] = properties[name] } }
        } else {
            values.merge(localized(status)) { $1 }
        }
        for (name, value) in changes.all { values.set(name, value) }
        values[.status] = status.rawValue
        values[.version] = StoryName.of("\(status) version", key)
        if let title = changes[.title] ?? properties[.title] ?? properties[.messageParam] {
            let marked = status.marking(title)
            values.set(.title, marked)
            // A text that is the title is marked as the title is.
            let text = MessageProperties(values)[.messageParam] ?? title
            values.set(.messageParam, text == title ? marked : text)
        } else if status == .correction {
            return nil
        }
        return MessageProperties(values)
    }

    /// Returns the texts in each language of the message, marked, with their links.
    private func localized(_ status: MessageStatus) -> [MessageProperty: String] {
        var values: [MessageProperty: String] = [:]
        for name in properties.names.compactMap({ $0.language(of: .news) ?? $0.language(of: .title) }) {
            guard let language = try? LanguageName(name), values[language.titleProperty] == nil,
                let title = properties[language.titleProperty] ?? properties[language.newsProperty]
            else { continue }
            let marked = status.marking(title)
            values[language.titleProperty] = marked
            values[language.newsProperty] = marked
            values[language.linkProperty] = properties[language.linkProperty]
        }
        return values
    }
}

extension MessageProperties {
    /// Returns the properties with the names of their story and version, unless they have them.
    ///
    /// A later message can then replace this one, and people who have chosen several of its categories see it once.
    /// Messages of one `key` are one version of one story.
    package func asStory(key: String) -> MessageProperties {
        var values = all
        if self[.story] == nil { values.set(.story, StoryName.of("sent story", key)) }
        if self[.version] == nil { values.set(.version, StoryName.of("sent version", key)) }
        return MessageProperties(values)
    }
}

extension [MessageProperty: String] {
    /// Sets a property, in place of one whose name differs in case only: hubs look names up ignoring case.
    package mutating func set(_ name: MessageProperty, _ value: String) {
        let key = name.rawValue.lowercased()
        self = filter { $0.key.rawValue.lowercased() != key }
        self[name] = value
    }
}
