package import Formats
package import FoundationEssentials

/// A feedback container for programs without a storage SDK.
extension ContainerListing {
    /// A JSON object; `address` is that of the container, with the query that opens it.
    package func json(at address: RequestAddress) -> JSONText {
        let files: [JSONText] = files.map { file in
            [
                "name": JSONText(file.name), "url": JSONText(address.item(file.name)),
                "contentLength": JSONText(file.length), "lastModified": JSONText(file.modifiedAt.wholeSecond),
            ]
        }
        return ["containerName": JSONText(containerName), "files": JSONText(array: files)]
    }

    /// An Atom feed with an entry for each file, at the time of the reply.
    package func atom(at address: RequestAddress, date: Date) -> String {
        let bare = RequestAddress(origin: address.origin, path: address.path, query: "")
        var inner = XMLDocumentText()
        inner.add("title", "Feedback")
        inner.add("id", bare.url)
        inner.add("updated", ISODateTime.formatSeconds(date))
        inner.add("author") { $0.add("name", containerName) }
        inner.add("link", attributes: [("rel", "self"), ("href", address.url)])
        for file in files {
            inner.add("entry") { entry in
                entry.add("id", bare.item(file.name))
                entry.addAlways("title", file.name)
                entry.add("updated", ISODateTime.formatSeconds(file.modifiedAt.date))
                entry.add(
                    "link",
                    attributes: [
                        ("rel", "alternate"), ("type", Self.fileType), ("length", "\(file.length)"),
                        ("href", address.item(file.name)),
                    ]
                )
            }
        }
        return "<feed xmlns=\"\(AtomNames.atom)\">\(inner.content)</feed>"
    }

    /// The address of a container alone, as an Atom entry.
    package static func atomEntry(of containerURL: String, date: Date) -> String {
        var inner = XMLDocumentText()
        let bare = containerURL.prefix { $0 != "?" }
        inner.add("id", String(bare))
        inner.add("title", "Feedback")
        inner.add("updated", ISODateTime.formatSeconds(date))
        inner.add("link", attributes: [("rel", "alternate"), ("href", containerURL)])
        return "<entry xmlns=\"\(AtomNames.atom)\">\(inner.content)</entry>"
    }
}
