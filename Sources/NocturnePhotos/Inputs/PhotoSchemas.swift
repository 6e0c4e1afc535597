package import NocturneSystem

/// The schemas of the photo recipes' output files.
package enum PhotoSchemas {
    /// `result.json` of a classified photo.
    package static let classification = JSONSchema(own: PackageResources.classification_result_schema_json)
    /// `result.json` of the instances in a photo.
    package static let instances = JSONSchema(own: PackageResources.instances_result_schema_json)
    /// `result.json` of the label map of a photo.
    package static let segmentation = JSONSchema(own: PackageResources.photo_segmentation_result_schema_json)
    /// `coco.json`.
    package static let coco = JSONSchema(own: PackageResources.coco_schema_json)
    /// `attention.json`.
    package static let attention = JSONSchema(own: PackageResources.attention_schema_json)
}
