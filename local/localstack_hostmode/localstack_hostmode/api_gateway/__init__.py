"""What LocalStack community leaves out of API Gateway's REST APIs."""
