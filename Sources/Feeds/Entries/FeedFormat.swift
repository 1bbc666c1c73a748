/// A feed's format and version, such as `rss-2.0`.
package struct FeedFormat: Sendable, Hashable, CustomStringConvertible {
    package enum Family: String, Sendable {
        case rss, atom, json, cap, sitemap
    }

    package let family: Family
    /// The version; `nil` when the document does not state a known one.
    package let version: String?

    package init(_ family: Family, version: String?) {
        self.family = family
        self.version = version
    }

    package var description: String {
        version.map { "\(family.rawValue)-\($0)" } ?? family.rawValue
    }
}
