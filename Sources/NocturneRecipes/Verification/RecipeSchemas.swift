package import NocturneSystem

/// The schemas of what the recipes write, as they lie in `Schemas` beside them.
package enum RecipeSchemas {
    package static let segmentation = JSONSchema(own: PackageResources.result_schema_json)
    package static let existingLabels = JSONSchema(own: PackageResources.existing_result_schema_json)
    package static let classification = JSONSchema(own: PackageResources.classification_result_schema_json)
    package static let instances = JSONSchema(own: PackageResources.instances_result_schema_json)
    package static let coco = JSONSchema(own: PackageResources.coco_schema_json)
    package static let attention = JSONSchema(own: PackageResources.attention_schema_json)
}
