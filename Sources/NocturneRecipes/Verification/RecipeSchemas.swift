package import NocturneCore

/// The schemas of what the recipes write, as they lie in `Schemas` beside them.
package enum RecipeSchemas {
    package static let segmentation = schema(PackageResources.result_schema_json)
    package static let existingLabels = schema(PackageResources.existing_result_schema_json)
    package static let classification = schema(PackageResources.classification_result_schema_json)
    package static let instances = schema(PackageResources.instances_result_schema_json)
    package static let coco = schema(PackageResources.coco_schema_json)
    package static let attention = schema(PackageResources.attention_schema_json)

    /// They are the program's own, and a test reads each of them.
    private static func schema(_ bytes: [UInt8]) -> JSONSchema {
        do {
            return try JSONSchema(bytes)
        } catch {
            preconditionFailure("a schema of the program itself: \(error)")
        }
    }
}
