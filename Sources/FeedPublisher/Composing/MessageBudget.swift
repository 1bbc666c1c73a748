internal import HubProtocol

/// Shortens a message until it fits, beginning with the parts that readers will miss least.
///
/// Texts in several languages are cut together, so that their order does not matter.
struct MessageBudget {
    /// The numbers of bytes of a text and of a title that are kept until names and addresses have been removed.
    private static let shortText = 300
    private static let shortTitle = 600

    private struct Step: Sendable {
        let names: @Sendable (MessageProperty) -> Bool
        /// Minimum number of bytes kept of each property.
        var floor = 0
        /// False for an address: a shortened one is useless.
        var isClippable = true
    }

    private static let steps: [Step] = {
        func only(_ name: MessageProperty) -> @Sendable (MessageProperty) -> Bool { { $0 == name } }
        let texts: @Sendable (MessageProperty) -> Bool = {
            $0 == .messageParam || $0.language(of: .news) != nil
        }
        return [
            Step(names: only(.alsoFrom)), Step(names: only(.summary)),
            Step(names: only(.image), isClippable: false), Step(names: only(.author)),
            Step(names: texts, floor: shortText),
            Step(names: { $0.language(of: .link) != nil }, isClippable: false),
            Step(names: { $0.language(of: .title) != nil }),
            Step(names: only(.title), floor: shortTitle), Step(names: only(.feed)),
            Step(names: only(.link), isClippable: false), Step(names: texts), Step(names: only(.title)),
        ]
    }()

    /// Encodes the properties as JSON of at most `limit` bytes.
    static func encode(_ properties: [MessageProperty: String], within limit: Int) -> [UInt8] {
        var values = properties
        var body = MessageProperties(values).encoded()
        for step in steps where body.count > limit {
            let parts = values.filter { step.names($0.key) }
            var room = parts.values.map(\.utf8.count).max() ?? 0
            while body.count > limit, room > step.floor {
                // An escaped character takes up to six bytes: cut until it fits.
                let cut = max(4, (body.count - limit) / (6 * parts.count))
                room = step.isClippable ? max(step.floor, room - cut) : 0
                for (name, value) in parts {
                    let clipped = TextClip.clip(value, characters: .max, bytes: room)
                    values[name] = clipped.isEmpty ? nil : clipped
                }
                body = MessageProperties(values).encoded()
            }
        }
        return body
    }
}
