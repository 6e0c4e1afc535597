package import NocturneSystem

/// The schemas of the volume recipes' output files.
package enum VolumeSchemas {
    package static let segmentation = JSONSchema(own: PackageResources.result_schema_json)
    package static let existingLabels = JSONSchema(own: PackageResources.existing_result_schema_json)
    package static let isosurfaces = JSONSchema(own: PackageResources.isosurface_result_schema_json)
}
