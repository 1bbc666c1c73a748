import FoundationEssentials
import HubProtocol

/// The members of a message that agents know, as plain strings; absent ones are empty.
///
/// The same for the agent's own template and for native messages of format `stream` (design §6).
package struct MessageContent: Sendable, Equatable {
    package var title: String
    package var message: String
    package var link: String
    package var category: String

    package init(title: String = "", message: String = "", link: String = "", category: String = "") {
        self.title = title
        self.message = message
        self.link = link
        self.category = category
    }

    /// Reads what it can; members of another type than string count as absent, since any template may have been used.
    ///
    /// A translation's own page comes before the story's.
    package init(body: String) {
        let members = Self.members(of: body)
        let links = [members[.localizedLink], members[.link]].compactMap(\.self)
        self.init(
            title: members[.title] ?? "",
            message: members[.message] ?? "",
            link: links.first { !$0.isEmpty } ?? "",
            category: members[.category] ?? ""
        )
    }

    /// The members of a message that are strings.
    static func members(of body: String) -> [MessageProperty: String] {
        (try? JSONDecoder().decode(LenientStrings.self, from: Data(body.utf8)))?.values ?? [:]
    }
}

/// The string members of a JSON object.
private struct LenientStrings: Decodable {
    let values: [MessageProperty: String]

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnyName.self)
        var values: [MessageProperty: String] = [:]
        for key in container.allKeys {
            values[MessageProperty(rawValue: key.stringValue)] = try? container.decode(String.self, forKey: key)
        }
        self.values = values
    }

    private struct AnyName: CodingKey {
        let stringValue: String
        let intValue: Int? = nil

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}
