/* The binary interface as a C11 compiler sees it. Sizes, offsets and numbers of a released version
 * are written down here and never change; later versions add at the end. */
#include <reshard/reshard.h>
#include <reshard/reshard_nccl.h>
#include <stddef.h>
#include <stdio.h>

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type)
#define AT(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #type "." #field)
#define NUMBER(name, value) _Static_assert((name) == (value), #name)

SIZE(reshard_result, 4);
SIZE(reshard_side, 4);
SIZE(reshard_log_level, 4);
NUMBER(RESHARD_OK, 0);
NUMBER(RESHARD_PENDING, 1);
NUMBER(RESHARD_ERROR_INVALID_ARGUMENT, -1);
NUMBER(RESHARD_ERROR_NOT_FOUND, -2);
NUMBER(RESHARD_ERROR_PERMISSION_DENIED, -3);
NUMBER(RESHARD_ERROR_IO, -4);
NUMBER(RESHARD_ERROR_CORRUPT_DATA, -5);
NUMBER(RESHARD_ERROR_LIMIT_EXCEEDED, -6);
NUMBER(RESHARD_ERROR_UNAVAILABLE, -7);
NUMBER(RESHARD_ERROR_TIMEOUT, -8);
NUMBER(RESHARD_ERROR_ABORTED, -9);
NUMBER(RESHARD_ERROR_WRONG_ORDER, -10);
NUMBER(RESHARD_ERROR_BAD_HANDLE, -11);
NUMBER(RESHARD_ERROR_BUSY, -12);
NUMBER(RESHARD_ERROR_INTERNAL, -13);
NUMBER(RESHARD_SOURCE, 0);
NUMBER(RESHARD_DESTINATION, 1);
NUMBER(RESHARD_LOG_ERROR, 0);
NUMBER(RESHARD_LOG_INFO, 1);
NUMBER(RESHARD_HOST_DEVICE, -1);

NUMBER(RESHARD_NCCL_PATH_AUTO, 0);
NUMBER(RESHARD_NCCL_PATH_DIRECT, 1);
NUMBER(RESHARD_NCCL_PATH_NCCL, 2);
SIZE(reshard_nccl_path, 4);
SIZE(reshard_nccl_id, 128);
SIZE(reshard_control, 32);
AT(reshard_control, all_gather, 8);
AT(reshard_control, user, 16);
AT(reshard_control, member, 24);
AT(reshard_control, member_count, 28);
SIZE(reshard_nccl_options, 72);
AT(reshard_nccl_options, library, 8);
AT(reshard_nccl_options, device, 16);
AT(reshard_nccl_options, path, 20);
AT(reshard_nccl_options, communicator, 24);
AT(reshard_nccl_options, id, 32);
AT(reshard_nccl_options, rank, 40);
AT(reshard_nccl_options, rank_count, 44);
AT(reshard_nccl_options, plan, 48);
AT(reshard_nccl_options, control, 56);
AT(reshard_nccl_options, timeout_ns, 64);

SIZE(reshard_plan_options, 32);
AT(reshard_plan_options, expected_digest, 8);
AT(reshard_plan_options, max_file_bytes, 16);
AT(reshard_plan_options, verify_all, 24);

SIZE(reshard_plan_info, 160);
AT(reshard_plan_info, digest, 8);
AT(reshard_plan_info, rank_count, 80);
AT(reshard_plan_info, round_count, 84);
AT(reshard_plan_info, message_count, 88);
AT(reshard_plan_info, source_bytes, 96);
AT(reshard_plan_info, destination_bytes, 104);
AT(reshard_plan_info, network_bytes, 112);
AT(reshard_plan_info, scaleup_bytes, 120);
AT(reshard_plan_info, local_bytes, 128);
AT(reshard_plan_info, max_staging_bytes, 136);
AT(reshard_plan_info, predicted_ns, 144);
AT(reshard_plan_info, bound_ns, 152);

SIZE(reshard_rank_info, 48);
AT(reshard_rank_info, param_count, 8);
AT(reshard_rank_info, staging_bytes, 16);
AT(reshard_rank_info, node, 24);
AT(reshard_rank_info, domain, 32);
AT(reshard_rank_info, gpu, 40);

SIZE(reshard_param_info, 80);
AT(reshard_param_info, name, 8);
AT(reshard_param_info, dtype, 16);
AT(reshard_param_info, side, 24);
AT(reshard_param_info, external, 28);
AT(reshard_param_info, bytes, 32);
AT(reshard_param_info, element_bytes, 40);
AT(reshard_param_info, dim_count, 44);
AT(reshard_param_info, shape, 48);
AT(reshard_param_info, strides, 56);
AT(reshard_param_info, share_count, 64);
AT(reshard_param_info, shares, 72);

SIZE(reshard_loopback_options, 16);
AT(reshard_loopback_options, pace, 8);

SIZE(reshard_tcp_options, 40);
AT(reshard_tcp_options, control, 8);
AT(reshard_tcp_options, address, 16);
AT(reshard_tcp_options, port, 24);
AT(reshard_tcp_options, no_shared_memory, 28);
AT(reshard_tcp_options, timeout_ns, 32);

SIZE(reshard_executor_options, 40);
AT(reshard_executor_options, wait_timeout_ns, 8);
AT(reshard_executor_options, trace, 16);
AT(reshard_executor_options, verify_executions, 20);
AT(reshard_executor_options, replica, 24);
AT(reshard_executor_options, replica_count, 32);

SIZE(reshard_buffer, 72);
AT(reshard_buffer, name, 8);
AT(reshard_buffer, side, 16);
AT(reshard_buffer, device, 20);
AT(reshard_buffer, data, 24);
AT(reshard_buffer, bytes, 32);
AT(reshard_buffer, dtype, 40);
AT(reshard_buffer, shape, 48);
AT(reshard_buffer, strides, 56);
AT(reshard_buffer, dim_count, 64);

SIZE(reshard_executor_state, 56);
AT(reshard_executor_state, started_generation, 8);
AT(reshard_executor_state, complete_generation, 16);
AT(reshard_executor_state, destination_count, 24);
AT(reshard_executor_state, complete_count, 32);
AT(reshard_executor_state, staging_bytes, 40);
AT(reshard_executor_state, running, 48);
AT(reshard_executor_state, failed, 52);

SIZE(reshard_stats, 128);
AT(reshard_stats, elapsed_ns, 8);
AT(reshard_stats, sent_bytes, 16);
AT(reshard_stats, received_bytes, 24);
AT(reshard_stats, read_bytes, 32);
AT(reshard_stats, local_bytes, 40);
AT(reshard_stats, delivered_bytes, 48);
AT(reshard_stats, fill_ns, 56);
AT(reshard_stats, pack_ns, 64);
AT(reshard_stats, start_ns, 72);
AT(reshard_stats, copy_ns, 80);
AT(reshard_stats, network_wait_ns, 88);
AT(reshard_stats, landed_wait_ns, 96);
AT(reshard_stats, slot_wait_ns, 104);
AT(reshard_stats, slowest_wait_ns, 112);
AT(reshard_stats, slowest_peer, 120);
AT(reshard_stats, peer_count, 124);

SIZE(reshard_peer_wait, 16);
AT(reshard_peer_wait, peer, 0);
AT(reshard_peer_wait, wait_ns, 8);

/* The initializers are constant expressions and set the size. */
static const reshard_plan_options plan_options = RESHARD_PLAN_OPTIONS_INIT;
static const reshard_loopback_options loopback_options = RESHARD_LOOPBACK_OPTIONS_INIT;
static const reshard_control control = RESHARD_CONTROL_INIT;
static const reshard_tcp_options tcp_options = RESHARD_TCP_OPTIONS_INIT;
static const reshard_executor_options executor_options = RESHARD_EXECUTOR_OPTIONS_INIT;
static const reshard_buffer buffer = RESHARD_BUFFER_INIT;

int main(void) {
  const int sizes_right =
      plan_options.struct_size == sizeof(plan_options) &&
      loopback_options.struct_size == sizeof(loopback_options) &&
      control.struct_size == sizeof(control) && tcp_options.struct_size == sizeof(tcp_options) &&
      executor_options.struct_size == sizeof(executor_options) &&
      buffer.struct_size == sizeof(buffer) && buffer.device == RESHARD_HOST_DEVICE;
  if (reshard_abi_version() != RESHARD_ABI_VERSION || !sizes_right) return 1;
  /* Handles of no object are told apart from addresses, by their result. */
  if (reshard_plan_free(NULL) != RESHARD_ERROR_BAD_HANDLE) return 1;
  puts("the binary interface is as it was");
  return 0;
}
