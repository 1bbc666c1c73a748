internal import FoundationEssentials
internal import Markup

/// The child elements of an entry, by the tags of its format.
struct FeedFields<Tag: RawRepresentable<Int>> {
    private let fields: XMLFields

    init(of entry: XMLElement, _ names: XMLNameTable) { fields = names.fields(of: entry) }

    /// The first element with a tag.
    subscript(_ tag: Tag) -> XMLElement? { fields[tag.rawValue] }

    /// Returns all elements with one of some tags, in document order.
    func all(_ tags: Tag...) -> [(tag: Tag?, element: XMLElement)] {
        fields.all(tags.map(\.rawValue)).map { (Tag(rawValue: $0.position), $0.element) }
    }

    /// Returns the first date of some tags that can be read.
    func date(_ tags: Tag...) -> Date? {
        tags.lazy.compactMap { tag in self[tag].flatMap { FeedDate.parse($0.bytes) } }.first
    }
}
