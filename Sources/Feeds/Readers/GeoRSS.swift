internal import Markup

/// Reads the place of an entry: GeoRSS simple and GML, and the older W3C vocabulary.
enum GeoRSS {
    /// Element names; an entry with a position has at least one of them.
    static let names = XMLNameTable(
        FeedNames.vocabulary,
        names: ["georss:where", "georss:point", "gml:point", "geo:point", "geo:lat"]
    )

    static func point(of item: XMLElement, context: FeedContext) -> GeographicPoint? {
        guard context.hasPlaces else { return nil }
        let whereabouts = item.first("georss:where")?.first("gml:point") ?? item.first("gml:point")
        if let text = (item.first("georss:point") ?? whereabouts?.first("gml:pos"))?.text { return pair(text) }
        let place = item.first("geo:point") ?? item
        guard let latitude = number(place.first("geo:lat")?.text),
            let longitude = number((place.first("geo:long") ?? place.first("geo:lon"))?.text)
        else { return nil }
        return GeographicPoint(latitude: latitude, longitude: longitude)
    }

    /// Reads latitude and longitude, separated by spaces or, contrary to the specification, by a comma.
    private static func pair(_ text: String) -> GeographicPoint? {
        let numbers = text.prefix(64).split { $0.isWhitespace || $0 == "," }.map { Double($0) }
        guard numbers.count >= 2, let latitude = numbers[0], let longitude = numbers[1] else { return nil }
        return GeographicPoint(latitude: latitude, longitude: longitude)
    }

    private static func number(_ text: String?) -> Double? { FeedText.trimmed(text).flatMap { Double($0) } }
}
