import Formats

/// The files of a feedback container, as Azure's blob storage lists them: what clients read with a storage SDK.
///
/// Source: protocol §5.7; Azure Storage, *List Blobs*.
package struct ContainerListing: Sendable, Equatable {
    package struct File: Sendable, Equatable {
        package let name: String
        /// In bytes.
        package let length: Int
        package let modifiedAt: Timestamp

        package init(name: String, length: Int, modifiedAt: Timestamp) {
            self.name = name
            self.length = length
            self.modifiedAt = modifiedAt
        }
    }

    /// The type of a file in Azure's storage.
    package static let fileType = "application/octet-stream"

    /// The container's address up to its name, with a slash at the end.
    package let serviceEndpoint: String
    package let containerName: String
    package let files: [File]

    package init(serviceEndpoint: String, containerName: String, files: [File] = []) {
        self.serviceEndpoint = serviceEndpoint
        self.containerName = containerName
        self.files = files
    }

    package var xml: String {
        var list = XMLDocumentText()
        list.add("Blobs") { blobs in
            for file in files {
                blobs.add("Blob") { blob in
                    blob.add("Name", file.name)
                    blob.add("Properties") { properties in
                        properties.add("Last-Modified", HTTPDate.text(file.modifiedAt.date))
                        properties.add("Content-Length", String(file.length))
                        properties.add("Content-Type", Self.fileType)
                        properties.add("BlobType", "BlockBlob")
                    }
                }
            }
        }
        list.add("NextMarker") { _ in }
        return """
            <?xml version="1.0" encoding="utf-8"?>\
            <EnumerationResults ServiceEndpoint="\(XMLText.escapedAttribute(serviceEndpoint))" \
            ContainerName="\(XMLText.escapedAttribute(containerName))">\(list.content)</EnumerationResults>
            """
    }
}
